#include <algorithm>

#include "cli/arbiter_options.h"
#include "cli/commands.h"
#include "cli/election_list.h"
#include "cli/exit_code.h"
#include "cli/follow.h"
#include "cli/leader_answer.h"
#include "cli/options.h"
#include "platform/event_loop.h"
#include "platform/signals.h"
#include "platform/system_clock.h"

namespace muster::cli {
namespace {

/// One look at the state.
struct StateLook {
  LeaderAnswer answer;
  std::optional<Revision> revision;  ///< Empty when there is no state yet.
  Duration lease{0};
};

Result<StateLook> decode(const Object& object) {
  const auto state = decode_whole(object, decode_leader_state);
  if (!state) {
    return {state.error().code, state.error().message +
                                    "; a running worker recovers from this by itself, see its "
                                    "events for trouble"};
  }
  return StateLook{judge(*state, object.age), object.revision, state->lease};
}

class LeaderCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "leader"; }
  [[nodiscard]] const char* summary() const override { return "Show the leader of an election"; }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster leader --arbiter file:///tmp/muster --json\n"
           "  "
           "{\"name\":\"default\",\"leader\":\"w1\",\"epoch\":1,\"leaseLeftMs\":12031,\"ageMs\":"
           "2969,\"confirmed\":true}\n"
           "\n"
           "Exits with 1 if there is no leader. Lease and age are by the store's clock, for "
           "people. If by\n"
           "that clock the lease has expired, the command waits for a renewal, at most a lease. "
           "On a\n"
           "store without a clock (S3, etcd), `confirmed` is false until --confirm has seen a "
           "renewal.\n"
           "With --watch it runs until SIGTERM or SIGINT and judges by renewals, as a follower "
           "does: it\n"
           "redraws one line on a terminal and prints a line for each change elsewhere.\n";
  }

  void declare(CLI::App& app) override {
    arbiter_.declare(app);
    arbiter_.declare_name(app, "default");
    arbiter_.declare_timeout(app);
    add_flag(app, "--confirm", confirm_, "Wait until the leader renews or its lease expires");
    add_flag(app, "--watch", watch_, "Follow changes until interrupted");
    add_flag(app, "--json", json_, "Print one JSON object; JSON lines with --watch");
  }

  [[nodiscard]] bool lasting() const override { return watch_; }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    if (watch_ && confirm_) {
      return {Errc::kInvalid, "--watch confirms what it shows: leave --confirm out"};
    }
    if (watch_) return show(terminal);
    const auto hub = arbiter_.open(ExistingStore::kRequired);
    if (!hub) return hub.error();
    const NamespaceKeys keys(arbiter_.name_space);
    Result<StateLook> look = this->look((*hub)->store(), keys, {});
    if (!look) return look.error();
    if (look->answer.leader && (confirm_ || look->answer.looks_expired)) {
      look = confirm((*hub)->store(), keys, *look);
      if (!look) return look.error();
    }
    const LeaderAnswer& answer = look->answer;
    terminal.line(to_line(terminal, answer));
    if (answer.leader) return kDone;
    hint(terminal, (*hub)->store());
    return kNo;
  }

 private:
  [[nodiscard]] std::string to_line(const Terminal& terminal, const LeaderAnswer& answer) const {
    if (json_) return answer.to_json(arbiter_.name_space);
    const std::string text = answer.to_text(arbiter_.name_space);
    return answer.leader ? terminal.green(text) : terminal.red(text);
  }

  // Who forgot --name asks about "default". A store that does not list them answered all the same.
  void hint(Terminal& terminal, SyncStore& store) const {
    const auto elections = read_elections(store);
    if (!elections) return;
    std::string led;
    bool confirmed = true;
    for (const ElectionRow& row : *elections) {
      // A lease that is over by the store's clock is no leader to point at.
      const LeaderAnswer& answer = row.answer;
      if (!answer.leader || answer.looks_expired || row.name == arbiter_.name_space) continue;
      led += (led.empty() ? "" : ", ") + row.name + " (" + answer.leader->value() + ")";
      confirmed = confirmed && answer.confirmed;
    }
    if (led.empty()) return;
    terminal.note(
        "muster leader: other elections of this store " +
        std::string(confirmed ? "have a leader: " : "name a leader, possibly a dead one: ") + led +
        "; choose one with --name\n");
  }

  Result<int> show(Terminal& terminal) {
    StopSignals signals;  // Before the store's thread.
    const auto hub = arbiter_.open(ExistingStore::kRequired);
    if (!hub) return hub.error();
    const NamespaceKeys keys(arbiter_.name_space);
    std::optional<Revision> seen;
    MonoTime since{};
    bool looked = false;
    bool renewed = false;
    return follow(terminal, signals, json_, [&]() -> Result<Look> {
      auto state = look((*hub)->store(), keys, {});
      if (!state) return state.error();
      LeaderAnswer& answer = state->answer;
      if (state->revision != seen) {
        renewed = looked;
        seen = state->revision;
        since = boot_now();
      }
      looked = true;
      if (renewed) answer.confirmed = true;
      if (answer.leader && state->lease > Duration(0) && boot_now() - since >= state->lease) {
        answer.leader.reset();
        answer.lease_left.reset();
        answer.confirmed = true;
      }
      const std::string key = (answer.leader ? answer.leader->value() : "") + " " +
                              std::to_string(answer.epoch.value()) +
                              (answer.confirmed ? " confirmed" : "");
      const std::string line = to_line(terminal, answer);
      return Look{line + "\n", line, key};
    });
  }

  static Result<StateLook> look(SyncStore& store, const NamespaceKeys& keys,
                                const std::optional<Revision>& unless) {
    const auto object = store.get(keys.state, unless);
    if (object.is(Errc::kNotFound)) return StateLook{nobody_yet(), {}, {}};
    if (!object) return object.error();
    return decode(*object);
  }

  // By this machine's clock and the revisions alone, as a follower judges.
  static Result<StateLook> confirm(SyncStore& store, const NamespaceKeys& keys, StateLook seen) {
    EventLoop pause;
    const Duration lease =
        seen.lease > Duration(0) ? seen.lease : CoordinatorOptions{}.lease_timeout;
    const MonoTime first_seen = pause.now();
    const Duration step = std::clamp<Duration>(lease / 20, 20ms, 1s);
    while (pause.now() < first_seen + lease) {
      pause.run_until(std::min(pause.now() + step, first_seen + lease));
      Result<StateLook> next = look(store, keys, seen.revision);
      if (next.is(Errc::kUnchanged)) continue;
      if (!next) return next;
      next->answer.confirmed = true;
      return next;
    }
    seen.answer.leader.reset();
    seen.answer.lease_left.reset();
    seen.answer.confirmed = true;
    return seen;
  }

  ArbiterOptions arbiter_;
  bool confirm_ = false;
  bool watch_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_leader_command() {
  return std::make_unique<LeaderCommand>();
}

}  // namespace muster::cli
