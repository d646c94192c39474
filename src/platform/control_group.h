#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>

#include "base/result.h"
#include "platform/unique_fd.h"

namespace muster {

/// A cgroup (version 2) that holds one command and everything the command starts: other users'
/// processes, hidden ones and those that left their session included. kill() ends them all at once,
/// and no fork outruns it. A process leaves only by being moved, which takes rights above the
/// cgroup.
///
/// No controller is enabled in it, so it may stand beside processes in the cgroup above, and limits
/// of that one hold on. A process with its directory open holds a lock on it: a cgroup that nobody
/// holds is left over from processes that were killed, and end_orphaned_control_groups() ends it. A
/// guardian holds a lock of its own, guard(): without it, what is in the cgroup is ended, too,
/// since the process that made the cgroup may be stopped. One thread.
class ControlGroup {
 public:
  /// Makes one below the cgroup of this process. An error says why there can be none here.
  [[nodiscard]] static Result<ControlGroup> make();
  /// The one whose directory another process has made, and passed on.
  [[nodiscard]] static Result<ControlGroup> adopt(UniqueFd directory, std::string name);

  /// Holds the lock of the guardian until the end of this object, so that nobody takes what is in
  /// the cgroup for unguarded. Requires: nothing has entered it yet.
  void guard() const;

  /// Whether something is in it without a guardian. If so, none can begin to guard it before the
  /// end of this object.
  [[nodiscard]] bool unguarded() const;

  /// For Command::control_group, and to pass it on.
  [[nodiscard]] int directory() const { return directory_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Sends KILL to every process in it, and in those below it.
  void kill() const;
  /// Whether a process that has not ended is in it, or in one below it.
  [[nodiscard]] bool populated() const;
  /// Calls `process` for each process in it; those of the ones below it are left out.
  void each_process(const std::function<void(pid_t)>& process) const;
  /// Removes it and those below it, if nothing is in it.
  void remove() const;

 private:
  ControlGroup(std::string name, UniqueFd directory, UniqueFd kill, UniqueFd events)
      : name_(std::move(name)),
        directory_(std::move(directory)),
        kill_(std::move(kill)),
        events_(std::move(events)) {}

  std::string name_;
  UniqueFd directory_;
  UniqueFd kill_;
  UniqueFd events_;
};

/// Moves this process into a cgroup. For the child of a fork: allocates nothing.
[[nodiscard]] bool enter_control_group(int directory);

/// Ends what is left in cgroups below the one of this process whose guardian was killed, and
/// removes them unless their muster still has them open. A muster that is not stopped notices the
/// death of its guardian and does the same. An error names what could not be ended within `limit`.
[[nodiscard]] Status end_orphaned_control_groups(Duration limit);

/// Tries it out: a process of its own enters a new cgroup, and kill() ends it there. Returns the
/// path below which such cgroups are made; an error says why there can be none here.
[[nodiscard]] Result<std::string> try_control_group();

}  // namespace muster
