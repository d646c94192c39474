// One worker of a fleet, for tests that kill it, freeze it and take its store away.
//
//   coordinator_worker URL NAMESPACE OPTIONS_JSON
//
// Prints one JSON object a line, with times in nanoseconds of CLOCK_BOOTTIME, which all processes
// of a host share:
//   {"hello":…,"boot":…,"wall":…}                   once
//   {"from":…,"to":…,"leads":…,"epoch":…,…}         every 10 ms: what it believed in between
//   {"write":"ok"|error,"from":…,"to":…,"epoch":…}  a write to a fenced object
//   {"event":…}                                     every event of the coordinator
// Reads commands: "write" (with the epoch of the last term, whether it still leads or not),
// "metrics", "workers". The end of its input is the order to leave, and it exits with 0.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "coordinator/fenced_store.h"
#include "coordinator/hub.h"
#include "platform/system_clock.h"

namespace muster {
namespace {

using Json = nlohmann::json;

std::int64_t stamp(MonoTime t) {
  return t.time_since_epoch().count();
}

/// One write(2) a line, so that a line is printed whole or not at all when the process is killed.
void print(const Json& json) {
  static Mutex mutex;
  const std::string line = json.dump() + "\n";
  MutexLock lock(mutex);
  const char* rest = line.data();
  std::size_t left = line.size();
  while (left > 0) {
    const ssize_t written = ::write(STDOUT_FILENO, rest, left);
    if (written < 0) ::_exit(1);  // Nobody listens any more.
    rest += written;
    left -= static_cast<std::size_t>(written);
  }
}

/// Writes a fenced object while leading, and once more on demand with the epoch it last had: the
/// write of a leader that looked at its guard and was then paused.
class FencedWriter final : public CoordinatorPlugin {
 public:
  explicit FencedWriter(SyncStore& store) : fenced_(store, system_random()) {}

  [[nodiscard]] std::string name() const override { return "fenced-writer"; }
  [[nodiscard]] Duration work_interval() const override { return 50ms; }
  void coordinator_work(const LeaseGuard& guard) override {
    last_term_ = guard.epoch().value();
    write(guard.epoch());
  }
  void write_again() { write(Epoch(last_term_)); }

 private:
  void write(Epoch epoch) {
    const MonoTime from = boot_now();
    const Status done = fenced_.put("fenced/object", std::to_string(stamp(from)), epoch);
    print({{"write", done ? "ok" : to_string(done.code())},
           {"message", done ? "" : done.error().message},
           {"from", stamp(from)},
           {"to", stamp(boot_now())},
           {"epoch", epoch.value()}});
  }

  FencedStore fenced_;
  std::atomic<std::uint64_t> last_term_{0};
};

/// An epoch is reported with a belief only if it was the same before and after.
void report_belief(const GlobalCoordinator& coordinator) {
  const Epoch before = coordinator.epoch();
  const MonoTime from = boot_now();
  const bool leads = coordinator.is_leader();
  const MonoTime to = boot_now();
  if (coordinator.epoch() != before) return;
  const auto leader = coordinator.leader();
  print({{"from", stamp(from)},
         {"to", stamp(to)},
         {"leads", leads},
         {"epoch", before.value()},
         {"leader", leader ? leader->value() : ""}});
}

void obey(const std::string& command, const GlobalCoordinator& coordinator, FencedWriter& writer) {
  if (command == "write") return writer.write_again();
  if (command == "metrics") {
    return print({{"metrics", Json::parse(coordinator.metrics().to_json())},
                  {"breaker", Json::parse(to_json(coordinator.circuit_breaker_status()))}});
  }
  if (command == "workers") return print({{"workers", coordinator.active_workers().size()}});
  std::cerr << "coordinator_worker: unknown command " << command << "\n";
}

int run(const std::string& url, const std::string& name_space, const std::string& json) {
  const auto options = CoordinatorOptions::from_json(json);
  if (!options) return std::cerr << options.error().message << "\n", 64;
  const auto hub = Hub::open(url);
  if (!hub) return std::cerr << hub.error().message << "\n", 64;
  const auto made = (*hub)->coordinator(name_space, *options);
  if (!made) return std::cerr << made.error().message << "\n", 64;
  const std::shared_ptr<GlobalCoordinator>& coordinator = *made;
  print({{"hello", coordinator->worker_id().value()},
         {"boot", stamp(boot_now())},
         {"wall", to_ms(system_wall_now())}});
  coordinator->on_event([](const CoordinatorEvent& event) {
    Json line = Json::parse(to_json(event));
    line["at"] = stamp(boot_now());
    print(line);
  });
  const auto writer = std::make_shared<FencedWriter>((*hub)->store());
  coordinator->subscribe(writer);
  coordinator->start();
  std::atomic<bool> ending{false};
  std::thread witness([&] {
    while (!ending) {
      report_belief(*coordinator);
      sleep_for(10ms);
    }
  });
  std::string command;
  while (std::getline(std::cin, command)) obey(command, *coordinator, *writer);
  coordinator->stop();
  ending = true;
  witness.join();
  return 0;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  // A frozen process reads no end of input: the kernel ends it with the test.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc != 4) return std::cerr << "coordinator_worker URL NAMESPACE OPTIONS_JSON\n", 64;
  return muster::run(argv[1], argv[2], argv[3]);
}
