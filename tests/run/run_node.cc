#include "tests/run/run_node.h"

#include <signal.h>
#include <sys/wait.h>

#include <utility>

namespace muster {
std::vector<std::string> run_words(const RunSpec& spec) {
  std::vector<std::string> all{"setpriv", "--pdeathsig", "KILL", "sh", "-c"};
  all.emplace_back("output=$1; shift; exec \"$@\" >>\"$output\" 2>&1");
  all.insert(all.end(), {"sh", spec.output, MUSTER_PROGRAM, "run", "--arbiter", spec.arbiter,
                         "--name", spec.name, "--id", spec.id});
  all.insert(all.end(), spec.options.begin(), spec.options.end());
  all.emplace_back("--");
  all.insert(all.end(), spec.command.begin(), spec.command.end());
  return all;
}

RunNode::RunNode(RunSpec spec)
    : spec_(std::move(spec)), process_(std::make_unique<ChildProcess>(run_words(spec_))) {}

RunNode::~RunNode() {
  if (runs()) ::kill(pid(), SIGCONT);
  process_->kill();
}

bool RunNode::runs() const {
  if (pid() < 0) return false;
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid());
  return ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

void RunNode::ask_to_stop() const {
  ::kill(pid(), SIGTERM);
}

int RunNode::stop() {
  ask_to_stop();
  return wait();
}

int RunNode::wait() {
  return process_->finish();
}

void RunNode::kill() {
  process_->kill();
}

std::optional<pid_t> RunNode::child_of(pid_t parent) {
  processes_.look();
  for (const ProcessEntry& entry : processes_.all()) {
    if (entry.parent == parent && !entry.ended()) return entry.pid;
  }
  return {};
}

std::optional<pid_t> RunNode::guardian() {
  return runs() ? child_of(pid()) : std::nullopt;
}

std::optional<pid_t> RunNode::command() {
  const auto above = guardian();
  return above ? child_of(*above) : std::nullopt;
}

}  // namespace muster
