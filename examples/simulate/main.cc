// Does my leader-only code run anything twice? Three nodes bill customers in a simulated world that
// pauses them and loses their requests; a whole quarter of an hour takes milliseconds, and the seed
// of a failure replays it.
//   simulate careless 1 1      with a mistake, one seed: finds a double charge and exits with 1
//   simulate careful 1 1000    without it, a thousand seeds: exits with 0
#include <muster/sim.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

using namespace std::chrono_literals;

/// What the outside world saw: who was charged how often.
using Bank = std::map<int, int>;

/// The code under test. It charges invoice after invoice; the store holds the number of the next.
struct Billing {
  bool careful;
  Bank& bank;

  void step(const muster::SimulatedProcess& process) {
    process.get("next", [this, process](const muster::Result<muster::StoredObject>& last) {
      using Kind = muster::WriteCondition::Kind;
      if (last) return bill(process, std::stoi(last->body), {Kind::kAtRevision, last->revision});
      if (last.is(muster::Code::kNotFound)) bill(process, 1, {Kind::kAbsent});
    });
  }
  void bill(const muster::SimulatedProcess& process, int invoice,
            const muster::WriteCondition& unchanged) {
    if (!process.leads()) return;
    // The mistake: to charge first and to write it down later. A process that is paused or cut off
    // in between has charged, and the next leader charges again. To be the leader does not help:
    // the order does.
    if (!careful) ++bank[invoice];
    process.put("next", std::to_string(invoice + 1), unchanged,
                [this, invoice](const muster::Result<std::string>& claimed) {
                  // No answer: perhaps nobody ever charges it. At most once is what was wanted.
                  if (careful && claimed) ++bank[invoice];
                });
  }
};

Bank simulate(std::uint64_t seed, bool careful) {
  Bank bank;
  Billing billing{careful, bank};
  muster::Simulation world({.seed = seed, .badness = 0.2});
  muster::SimulatedWork work;
  work.step = [&](const muster::SimulatedProcess& process) { billing.step(process); };
  for (const char* id : {"a", "b", "c"}) (void)world.add(id, work);
  for (auto at = 10s; at < 15min; at += 10s) {
    world.at(at, [&] {
      const auto unlucky = world.processes()[world.random(3)];
      unlucky.freeze(std::chrono::milliseconds(world.random(20'000)));
    });
  }
  world.run_for(15min);
  return bank;
}

int main(int argc, char** argv) {
  const std::string kind = argc == 4 ? argv[1] : "";
  if (kind != "careless" && kind != "careful") {
    std::fprintf(stderr, "usage: simulate careless|careful FIRST-SEED SEEDS\n");
    return 64;
  }
  const std::uint64_t first = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t seeds = std::strtoull(argv[3], nullptr, 10);
  std::size_t charged = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const Bank bank = simulate(seed, kind == "careful");
    charged += bank.size();
    for (const auto& [invoice, times] : bank) {
      if (times == 1) continue;
      std::printf("seed %llu: invoice %d was charged %d times\n",
                  static_cast<unsigned long long>(seed), invoice, times);
      return 1;
    }
  }
  std::printf("%zu invoices were charged, each of them once\n", charged);
  return 0;
}
