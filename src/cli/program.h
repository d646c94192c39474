#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"

namespace muster::cli {

/// The whole of `muster`: takes the words after the program's name, answers with the exit code.
[[nodiscard]] int run(const std::vector<std::string>& words, Terminal& terminal);

}  // namespace muster::cli
