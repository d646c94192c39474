#pragma once

#include <string>

#include "cli/outline.h"

/// Scripts that teach a shell the commands, options and values of the program `root`. Each is
/// complete in itself: it needs no other package and does not start the program. After a bare --
/// follows another program's command line, and is completed as that.
namespace muster::cli {

[[nodiscard]] std::string bash_completion(const CommandOutline& root);
[[nodiscard]] std::string zsh_completion(const CommandOutline& root);
[[nodiscard]] std::string fish_completion(const CommandOutline& root);

}  // namespace muster::cli
