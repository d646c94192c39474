#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "platform/event_loop.h"
#include "platform/process.h"

namespace muster::cli {

/// A shell command that is told of something and is no leader-only work: nothing waits for it but
/// the end of the program, and it is killed, with its process group, when it takes longer than
/// kTimeout. Destroying it earlier kills it, too. It reads nothing, and what it prints goes to
/// standard error. Loop thread only.
class Hook {
 public:
  static constexpr Duration kTimeout = 10s;

  /// `done` comes once, on the loop; an error says how the hook failed.
  Hook(EventLoop& loop, std::string name, const std::string& text,
       std::vector<std::string> environment, std::function<void(Status)> done);
  ~Hook();
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

 private:
  void ended();

  EventLoop& loop_;
  const std::string name_;
  std::function<void(Status)> done_;
  std::optional<Process> process_;
  Timer timer_;
  Lifetime lifetime_;
  bool late_ = false;
};

}  // namespace muster::cli
