#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/supervisor.h"

namespace muster::cli {

/// What a file of commands says; see docs/run.md for its form.
struct CommandsFile {
  RestartStrategy strategy = RestartStrategy::kOneForOne;
  std::uint32_t restarts_max = 3;
  Duration restart_window = 5s;
  std::vector<ChildSpec> children;
};

/// Reads the YAML file at `path`. A command without a grace of its own gets `grace`, which is also
/// the most that any may have: the lease leaves no more. kInvalid names the file, the line and
/// what is wrong; a key that is not known is wrong.
[[nodiscard]] Result<CommandsFile> read_commands(const std::string& path, Duration grace);
/// The same for the text of such a file; errors name the line only.
[[nodiscard]] Result<CommandsFile> parse_commands(const std::string& yaml, Duration grace);

/// permanent, transient or temporary.
[[nodiscard]] Result<RestartPolicy> parse_restart_policy(const std::string& text);

}  // namespace muster::cli
