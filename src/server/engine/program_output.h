#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "platform/event_loop.h"
#include "platform/process.h"

namespace muster::engine {

/// Runs a short program to its end and gathers what it writes to standard output.
/// Ended by force after `limit`, and when this is destroyed. Loop thread only.
class ProgramOutput {
 public:
  using Finished = std::function<void(Result<std::string>)>;

  ProgramOutput(EventLoop& loop, Duration limit) : loop_(loop), limit_(limit), timer_(loop) {}
  ~ProgramOutput() { end(); }
  ProgramOutput(const ProgramOutput&) = delete;
  ProgramOutput& operator=(const ProgramOutput&) = delete;

  /// Once. `done` is posted; it may destroy this.
  void run(std::vector<std::string> argv, Finished done);

 private:
  void read();
  void finish(Result<std::string> result);
  void end();

  EventLoop& loop_;
  const Duration limit_;
  Timer timer_;
  std::string program_;
  std::optional<Process> process_;
  UniqueFd output_;
  std::string text_;
  Finished done_;
  Lifetime lifetime_;
};

}  // namespace muster::engine
