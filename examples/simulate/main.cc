// Does my leader-only code run anything twice? Three nodes bill customers in a simulated world that
// pauses them and loses their requests; a whole quarter of an hour takes milliseconds, and the seed
// of a failure replays it.
//   simulate careless 1 1      with a mistake, one seed: finds a double charge and exits with 1
//   simulate careful 1 1000    without it, a thousand seeds: exits with 0
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "base/log.h"
#include "candidate/candidate.h"
#include "sim/faulty_store.h"
#include "sim/world.h"

using namespace muster;  // NOLINT: an example.

/// What the outside world saw: who was charged how often.
using Bank = std::map<int, int>;

/// The code under test. It charges invoice after invoice; the store holds the number of the next.
class Billing final : public LeaderWork {
 public:
  Billing(bool careful, Loop& loop, ObjectStore& store, Bank& bank)
      : careful_(careful), loop_(loop), store_(store), bank_(bank), timer_(loop) {}

  void start(Epoch, std::shared_ptr<const LeaseGuard> guard, std::function<void()> on_ready,
             std::function<void(std::string)>) override {
    guard_ = std::move(guard);
    next();
    on_ready();
  }
  void stop(MonoTime, std::function<void(bool)> done) override {
    timer_.cancel();
    term_.renew();  // What is still under way comes to nothing.
    done(true);
  }
  void deadline_moved(MonoTime) override {}  // The guard is asked before every step.

 private:
  void next() {
    timer_.arm(1s, [this] { next(); });
    if (!guard_->valid()) return;
    store_.get("next", {}, loop_.now() + 1s, term_.wrap([this](Result<Object> last) {
      if (last) return bill(std::stoi(last->body), Precondition::at(last->revision));
      if (last.is(Errc::kNotFound)) bill(1, Precondition::absent());
    }));
  }
  void bill(int invoice, Precondition unchanged) {
    if (!guard_->valid()) return;
    // The mistake: to charge first and to write it down later. Who is paused or cut off in between
    // has charged, and the next leader charges again. Being the leader does not help: the order
    // does.
    if (!careful_) ++bank_[invoice];
    store_.put("next", std::to_string(invoice + 1), std::move(unchanged), loop_.now() + 1s,
               term_.wrap([this, invoice](const Result<Revision>& claimed) {
                 // No answer: perhaps nobody ever charges it. At most once is what was wanted.
                 if (careful_ && claimed) ++bank_[invoice];
               }));
  }

  const bool careful_;
  Loop& loop_;
  ObjectStore& store_;
  Bank& bank_;
  std::shared_ptr<const LeaseGuard> guard_;
  Timer timer_;
  Lifetime term_;
};

CandidateOptions named(const char* id) {
  CandidateOptions options;
  options.node = WorkerId(id);
  return options;
}

struct Node {
  Node(sim::World& world, std::shared_ptr<sim::SharedStore> shared, const char* id, bool careful,
       Bank& bank)
      : process(world, 1.0, 0s),
        store(world, process, std::move(shared)),
        billing(careful, process, store, bank),
        candidate("billing", named(id),
                  {process, store, billing, Random(world.random().next()), {}, {}}) {
    process.post([this] { candidate.start(); });
  }
  sim::Process process;
  sim::FaultyStore store;
  Billing billing;
  Candidate candidate;
};

Bank simulate(std::uint64_t seed, bool careful) {
  sim::World world(seed);
  auto shared = std::make_shared<sim::SharedStore>();
  shared->faults = sim::StoreFaults::scaled(0.2);
  Bank bank;
  Node nodes[] = {{world, shared, "a", careful, bank},
                  {world, shared, "b", careful, bank},
                  {world, shared, "c", careful, bank}};
  for (Duration at = 10s; at < 15min; at += 10s) {
    world.at(at, [&] {
      sim::Process& unlucky = nodes[world.random().below(3)].process;
      unlucky.pause(world.now() + world.random().between(Duration(0s), Duration(20s)));
    });
  }
  world.run(15min);
  for (Node& node : nodes) node.process.kill();
  return bank;
}

int main(int argc, char** argv) {
  const std::string kind = argc == 4 ? argv[1] : "";
  if (kind != "careless" && kind != "careful") {
    std::fprintf(stderr, "usage: simulate careless|careful FIRST-SEED SEEDS\n");
    return 64;
  }
  set_log_sink({});
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
