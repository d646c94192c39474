#include "tests/run/schedule.h"

#include <signal.h>

#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "base/random.h"
#include "platform/system_clock.h"
#include "tests/coordinator/fleet.h"
#include "tests/run/evidence.h"
#include "tests/run/judge.h"
#include "tests/run/run_node.h"
#include "tests/support/child_process.h"

namespace muster {
namespace {

constexpr int kSteps = 14;
constexpr Duration kLease = 2s;
/// Someone runs the work again by then, on a machine that does many other things.
constexpr Duration kHealed = 60s;

class Schedule {
 public:
  Schedule(const std::string& kind, std::uint64_t seed) : random_(seed), judge_(make_judge(kind)) {}

  ScheduleReport run() {
    for (std::size_t i = 0; i < slots_.size(); ++i) start(i);
    for (int step = 0; step < kSteps; ++step) {
      let_pass(random_.between(30ms, 600ms));
      thaw_those_due();
      act();
    }
    heal();
    stop_all();
    judge_evidence();
    return report_;
  }

 private:
  struct Slot {
    std::unique_ptr<RunNode> node;
    std::optional<pid_t> frozen;
    MonoTime busy_until = MonoTime::min();  ///< Left alone until then.
  };

  void start(std::size_t i) {
    static constexpr std::array<const char*, 4> kModes = {"calm", "threads", "stubborn", "daemon"};
    RunSpec spec;
    spec.arbiter = judge_->url();
    spec.name = "work";
    spec.id = "node-" + std::to_string(i);
    spec.options = {"--lease-timeout", "2s", "--takeover-delay", "20ms"};
    spec.command = {RUN_WITNESS, dir_.path().string(), kModes.at(random_.below(kModes.size()))};
    spec.output = (dir_.path() / (spec.id + ".out")).string();
    slots_.at(i).node = std::make_unique<RunNode>(std::move(spec));
  }

  void act() {
    const std::size_t i = random_.below(slots_.size());
    Slot& slot = slots_.at(i);
    if (boot_now() < slot.busy_until) return;
    if (!slot.node || !slot.node->runs()) return start(i);
    ++report_.faults;
    switch (random_.below(9)) {
      case 0:
      case 1:
        slot.node->stop();
        break;
      case 2:
      case 3:
        slot.node->kill();
        break;
      case 4:
        freeze(slot, slot.node->pid());
        break;
      case 5:
        freeze(slot, slot.node->guardian());
        break;
      case 6:
        freeze(slot, slot.node->command());
        break;
      case 7:
        kill_guardian(slot);
        break;
      default:
        judge_->disturb(random_);
    }
  }

  void freeze(Slot& slot, std::optional<pid_t> pid) {
    if (!pid) return;
    ::kill(*pid, SIGSTOP);
    slot.frozen = pid;
    slot.busy_until = boot_now() + random_.between(50ms, 3 * kLease);
  }

  void kill_guardian(Slot& slot) {
    const auto guardian = slot.node->guardian();
    if (!guardian) return;
    ::kill(*guardian, SIGKILL);
    // Time to notice, as long as a loaded machine needs: both dead at once is beyond the promise.
    slot.busy_until = boot_now() + kLease / 2;
  }

  void thaw(Slot& slot) {
    if (slot.frozen) ::kill(*slot.frozen, SIGCONT);
    slot.frozen.reset();
  }
  void thaw_those_due() {
    for (Slot& slot : slots_) {
      if (boot_now() >= slot.busy_until) thaw(slot);
    }
  }

  void heal() {
    for (Slot& slot : slots_) thaw(slot);
    const MonoTime healed = boot_now();
    while (boot_now() < healed + kHealed) {
      for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (!slots_.at(i).node || !slots_.at(i).node->runs()) start(i);
      }
      const auto seen = evidence_.last_seen();
      if (seen && *seen > healed + 2 * kLease) return;
      let_pass(50ms);
    }
    complain("no work runs " + std::to_string(kHealed / 1s) + " s after all was healed");
  }

  void stop_all() {
    for (Slot& slot : slots_) {
      if (slot.node->runs()) slot.node->ask_to_stop();
    }
    for (Slot& slot : slots_) slot.node->wait();
    const auto before = evidence_.last_seen();
    let_pass(20ms);
    if (evidence_.last_seen() != before) complain("work runs on after every node has stopped");
  }

  void judge_evidence() {
    const std::vector<Claim> claims = evidence_.claims();
    report_.terms = count_terms(claims);
    for (const std::string& sentence : contradictions(claims)) complain(sentence);
    for (const std::string& sentence : falling_epochs(claims)) complain(sentence);
    if (report_.wrong.empty()) return;
    std::ostringstream all;
    for (const Claim& claim : claims)
      all << "\n" << claim.who << " " << claim.epoch << " " << claim.from.time_since_epoch() / 1us;
    for (const Slot& slot : slots_)
      all << "\n--- " << slot.node->spec().id << "\n"
          << std::ifstream(slot.node->spec().output).rdbuf();
    complain("the evidence (node, epoch, boot time in microseconds) and all output:" + all.str());
  }

  void complain(std::string sentence) { report_.wrong.push_back(std::move(sentence)); }

  Random random_;
  std::unique_ptr<Judge> judge_;
  TempDir dir_;
  EvidenceRoom evidence_{dir_.path()};
  std::array<Slot, 3> slots_;
  ScheduleReport report_;
};

}  // namespace

ScheduleReport run_schedule(const std::string& kind, std::uint64_t seed) {
  return Schedule(kind, seed).run();
}

}  // namespace muster
