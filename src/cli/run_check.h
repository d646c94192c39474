#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"

namespace muster::cli {

/// What ends a command of `muster run` on this machine, for this user.
struct Protection {
  bool control_group = false;
  std::string where;  ///< The cgroup below which commands run; empty without one.
  std::string why;    ///< Why there is no cgroup; empty with one.
  bool root = false;
  bool hidden = false;  ///< /proc does not show every process to this user.

  /// Tries it out: makes a cgroup, starts a process in it and ends that by cgroup.kill.
  [[nodiscard]] static Protection of_this_machine();
  /// What may go on after its lease all the same: one sentence each.
  [[nodiscard]] std::vector<std::string> gaps() const;
};

/// The answer of `muster run --check`.
void print(const Protection& protection, bool json, Terminal& terminal);

/// What `muster run` cannot work without. An error says what is missing.
[[nodiscard]] Status check_machine();

}  // namespace muster::cli
