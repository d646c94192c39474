#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

/// Options that the command line left open. CLI11 could do this itself, but there a file beats the
/// environment; here the nearer source wins: command line, environment, file.
namespace muster::cli {

/// MUSTER_LEASE_TIMEOUT for --lease-timeout. A variable that is empty counts as not set.
[[nodiscard]] Status fill_from_environment(CLI::App& command);
/// A variable that looks like a slip of the pen for one that a command of `program` knows is an
/// error. What else begins with MUSTER_ belongs to other programs.
[[nodiscard]] Status refuse_slips(const CLI::App& program);
/// From the YAML file at `path`. One file may serve several commands, so a key that only another
/// command of `program` knows is left to that one; a key that none knows is an error.
[[nodiscard]] Status fill_from_file(const CLI::App& program, CLI::App& command,
                                    const std::string& path);

/// The long names of a command's options, without dashes in front.
[[nodiscard]] std::vector<std::string> option_names(const CLI::App& command);
/// "; did you mean lease-timeout?", or nothing when no candidate is near.
[[nodiscard]] std::string did_you_mean(const std::string& text,
                                       const std::vector<std::string>& candidates,
                                       const std::string& prefix = "");

}  // namespace muster::cli
