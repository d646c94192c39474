#pragma once

#include <future>
#include <string>
#include <thread>

#include "base/time.h"
#include "cli/terminal.h"

namespace muster::cli {

/// Tells the user at a terminal that a command still works: after `first`, and then each time that
/// as much time has passed again. Whole lines, so that nothing has to be erased. Has a thread of
/// its own, which ends with this.
class Progress {
 public:
  Progress(Terminal& terminal, std::string command, Duration first = 1s);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  std::promise<void> over_;
  std::thread thread_;
};

}  // namespace muster::cli
