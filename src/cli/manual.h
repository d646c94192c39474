#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/outline.h"

namespace muster::cli {

/// A manual page in roff, in the macros that every man(1) understands.
struct ManualPage {
  std::string name;     ///< muster-worker
  std::string section;  ///< Of the manual: 1 for commands, 8 for servers.
  std::string text;

  [[nodiscard]] std::string file_name() const { return name + "." + section; }
};

/// One page for the program `root`, first, and one for each command below it. `version` and
/// `date`, written YYYY-MM-DD, are what the foot of each page shows. In the notes, a paragraph that
/// begins with "Example" or with "Exit codes:" becomes a section of its own.
[[nodiscard]] std::vector<ManualPage> manual_pages(const CommandOutline& root,
                                                   const std::string& version,
                                                   const std::string& date,
                                                   const std::string& section = "1");

/// Today, or what SOURCE_DATE_EPOCH says: packages that are built twice must be the same.
[[nodiscard]] Result<std::string> manual_date();

}  // namespace muster::cli
