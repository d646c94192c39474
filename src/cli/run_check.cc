#include "cli/run_check.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "candidate/guarded_command.h"
#include "cli/topology_text.h"
#include "platform/control_group.h"
#include "platform/process.h"
#include "platform/process_table.h"

namespace muster::cli {

Protection Protection::of_this_machine() {
  Protection result;
  result.root = ::geteuid() == 0;
  result.hidden = ::access("/proc/1/stat", R_OK) != 0;
  const auto where = try_control_group();
  result.control_group = where.ok();
  if (where) {
    result.where = *where;
  } else {
    result.why = where.error().message;
  }
  return result;
}

std::vector<std::string> Protection::gaps() const {
  std::vector<std::string> result;
  if (!control_group && !root) {
    result.emplace_back(
        "Processes of other users (sudo, setuid programs): this user may not signal them.");
  }
  if (control_group && !root) {
    result.emplace_back(
        "Processes of other users (sudo, setuid programs) are killed in time, but not asked to end "
        "first.");
  }
  if (!control_group && hidden) {
    result.emplace_back(
        "Processes below one that /proc hides (hidepid) are killed in time, but not asked to end "
        "first.");
  }
  if (control_group) {
    result.emplace_back(
        "If muster and its guardian are killed at once, processes that the command has started go "
        "on until a muster run starts, or begins to lead, in " +
        where + "; so does the command itself if it has changed its user.");
  } else {
    result.emplace_back(
        "If muster and its guardian are killed at once, processes that the command has started go "
        "on; so does the command itself if it has changed its user or has file capabilities.");
  }
  result.emplace_back(
      "While muster and its guardian are both frozen (a suspended machine, a paused virtual "
      "machine), nothing ends the command in time. If one of them is frozen and the other killed, "
      "processes that the command has started may go on.");
  result.emplace_back(
      "Processes that another service starts for the command (systemd-run, docker run -d, at) are "
      "not ended with it.");
  return result;
}

void print(const Protection& protection, bool json, Terminal& terminal) {
  const char* const by = protection.control_group ? "cgroup" : "process-table";
  if (json) {
    nlohmann::ordered_json answer = {{"protection", by},
                                     {"cgroup", nullptr},
                                     {"reason", protection.why},
                                     {"root", protection.root},
                                     {"hidden_processes", protection.hidden},
                                     {"not_protected", protection.gaps()}};
    if (protection.control_group) answer["cgroup"] = protection.where;
    return terminal.line(dump(answer));
  }
  if (protection.control_group) {
    terminal.line("Protected by a cgroup: each command runs in one of its own below " +
                  protection.where + ", and cgroup.kill ends everything in it at once.");
  } else {
    terminal.line("Protected by the process table: " + protection.why +
                  ". Descendants of a command are found in /proc and killed.");
  }
  terminal.line("Not protected:");
  for (const std::string& each : protection.gaps()) terminal.line("  - " + each);
}

Status check_machine() {
  if (!look_at(::getpid())) {
    return {Errc::kUnavailable,
            "/proc is not mounted, but muster needs it to find the processes of a command; mount "
            "it (mount -t proc proc /proc)"};
  }
  // A standby would look healthy without it until it leads.
  if (const Status guardian = can_run({.argv = {find_guardian()}}); !guardian) {
    return {Errc::kUnavailable, guardian.error().message +
                                    "; muster-guardian, the parent of each command, must be "
                                    "beside muster or in ../libexec/muster: install it again"};
  }
  return Done{};
}

}  // namespace muster::cli
