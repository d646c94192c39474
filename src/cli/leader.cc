#include <algorithm>

#include "cli/arbiter_options.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/leader_answer.h"
#include "cli/options.h"
#include "platform/event_loop.h"

namespace muster::cli {
namespace {

/// One look at the state.
struct Look {
  LeaderAnswer answer;
  std::optional<Revision> revision;  ///< Empty when there is no state yet.
  Duration lease{0};
};

Result<Look> decode(const Object& object) {
  const auto state = decode_leader_state(object.body);
  if (!state) {
    return {state.error().code, state.error().message +
                                    "; a running worker recovers from this by itself, see its "
                                    "events for trouble"};
  }
  return Look{judge(*state, object.age), object.revision, state->lease};
}

class LeaderCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "leader"; }
  [[nodiscard]] const char* summary() const override {
    return "Who leads, by one look at the store";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster leader --arbiter file:///tmp/muster --json\n"
           "  "
           "{\"leader\":\"w1\",\"epoch\":1,\"leaseLeftMs\":12031,\"ageMs\":2969,\"confirmed\":true}"
           "\n"
           "\n"
           "Exits with 1 when nobody leads. Lease and age are by the store's clock, for people; on "
           "a\n"
           "store without one, `confirmed` is false until --confirm has seen a renewal.\n";
  }

  void declare(CLI::App& app) override {
    arbiter_.declare(app);
    arbiter_.declare_namespace(app);
    arbiter_.declare_timeout(app);
    add_flag(app, "--confirm", confirm_,
             "Watch until the leader renews, or until its lease has passed");
    add_flag(app, "--json", json_, "Print one JSON object");
  }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    const auto hub = arbiter_.open();
    if (!hub) return hub.error();
    const NamespaceKeys keys(arbiter_.name_space);
    Result<Look> look = this->look((*hub)->store(), keys, {});
    if (!look) return look.error();
    if (confirm_ && look->answer.leader) {
      look = confirm((*hub)->store(), keys, *look);
      if (!look) return look.error();
    }
    const LeaderAnswer& answer = look->answer;
    const std::string text = answer.to_text();
    terminal.line(json_           ? answer.to_json()
                  : answer.leader ? terminal.green(text)
                                  : terminal.red(text));
    return answer.leader ? kDone : kNo;
  }

 private:
  static Result<Look> look(SyncStore& store, const NamespaceKeys& keys,
                           const std::optional<Revision>& unless) {
    const auto object = store.get(keys.state, unless);
    if (object.is(Errc::kNotFound)) return Look{nobody_yet(), {}, {}};
    if (!object) return object.error();
    return decode(*object);
  }

  // By this machine's clock and the revisions alone, as a follower judges.
  static Result<Look> confirm(SyncStore& store, const NamespaceKeys& keys, Look seen) {
    EventLoop pause;
    const Duration lease =
        seen.lease > Duration(0) ? seen.lease : CoordinatorOptions{}.lease_timeout;
    const MonoTime first_seen = pause.now();
    const Duration step = std::clamp<Duration>(lease / 20, 20ms, 1s);
    while (pause.now() < first_seen + lease) {
      pause.run_until(std::min(pause.now() + step, first_seen + lease));
      Result<Look> next = look(store, keys, seen.revision);
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
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_leader_command() {
  return std::make_unique<LeaderCommand>();
}

}  // namespace muster::cli
