#pragma once

#include <string>
#include <vector>

#include "cli/outline.h"

namespace muster::cli {

/// A manual page in roff, in the macros that every man(1) understands.
struct ManualPage {
  std::string name;  ///< muster-worker
  std::string text;

  [[nodiscard]] std::string file_name() const { return name + ".1"; }
};

/// One page for the program `root`, first, and one for each command below it. `version` and
/// `date`, written YYYY-MM-DD, are what the foot of each page shows.
[[nodiscard]] std::vector<ManualPage> manual_pages(const CommandOutline& root,
                                                   const std::string& version,
                                                   const std::string& date);

}  // namespace muster::cli
