#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/run_check.h"
#include "cli/run_plan.h"
#include "cli/run_session.h"

namespace muster::cli {
namespace {

class RunCommand final : public Command {
 public:
  [[nodiscard]] const char* name() const override { return "run"; }
  [[nodiscard]] const char* summary() const override {
    return "Run a command on one machine at a time, while it leads";
  }
  [[nodiscard]] const char* example() const override {
    return "Example:\n"
           "  muster run --arbiter etcd://h1:2379,h2:2379,h3:2379/app --name cron -- cron -f\n"
           "\n"
           "Run the same line on every machine. The command starts when this machine leads. It is "
           "ended\n"
           "before the lease ends, with every process it has started, whatever happens to muster. "
           "Its\n"
           "environment has MUSTER_EPOCH, MUSTER_NAME, MUSTER_NODE and MUSTER_LEASE_DEADLINE. "
           "Signals\n"
           "are passed on to it. TERM, INT and QUIT also end muster; a second signal, half a "
           "second\n"
           "later or more, kills the command.\n"
           "Defaults also come from COORDINATOR_ELIGIBLE, _NODE_TYPE, _ELECTION_INTERVAL and\n"
           "_TAKEOVER_DELAY.\n"
           "\n"
           "Exit codes: the command's own, or 128 + signal; 70 not acquired, 71 lease lost, 72 "
           "store\n"
           "unreachable, 73 supervision failed, 3 unsafe store, 64 usage, 69 the machine lacks "
           "something\n"
           "that muster needs; standard error says what.\n";
  }

  void declare(CLI::App& app) override { options_.declare(app); }
  [[nodiscard]] std::vector<std::string>* command_line() override {
    return &options_.command_line();
  }

  [[nodiscard]] bool lasting() const override { return true; }

  [[nodiscard]] Result<int> run(Terminal& terminal) override {
    const bool with_command = !options_.check() || options_.has_command();
    auto plan = with_command ? options_.plan() : RunPlan();
    if (!plan) return plan.error();
    if (Status machine = check_machine(); !machine) return machine.error();
    if (options_.check()) return checked(terminal);
    return RunSession(std::move(*plan), terminal).run();
  }

 private:
  [[nodiscard]] int checked(Terminal& terminal) const {
    print(Protection::of_this_machine(), options_.json(), terminal);
    return kDone;
  }

  RunOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_run_command() {
  return std::make_unique<RunCommand>();
}

}  // namespace muster::cli
