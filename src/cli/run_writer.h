#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <ostream>
#include <string>

#include "base/loop.h"
#include "base/mutex.h"
#include "platform/event_loop.h"
#include "platform/unique_fd.h"

namespace muster::cli {

/// Prints lines to standard error without waiting for whoever reads it: a full pipe must hold up
/// neither renewals nor signals. What does not fit is kept, up to kLinesMax lines, and written when
/// there is room; beyond that lines are dropped, and the next one that is kept is preceded by how
/// many were.
///
/// Does not promise this for a descriptor that this user may not open again (another user's pipe
/// or terminal): there it looks for room first, and somebody else may take it in between.
/// Any thread writes; made and destroyed on the loop's thread.
class RunWriter {
 public:
  static constexpr std::size_t kLinesMax = 1000;
  static constexpr Duration kPatience = 1s;

  /// `told` makes the line about so many dropped ones. Another stream than std::cerr is written to
  /// directly.
  RunWriter(EventLoop& loop, std::ostream& err, std::function<std::string(std::size_t)> told);
  /// Waits for a reader at most for kPatience.
  ~RunWriter();
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;

  /// `line` ends with a newline.
  void write(std::string line) EXCLUDES(mutex_);

 private:
  enum class Way { kStream, kDescriptor, kSocket };

  /// True when all is written.
  [[nodiscard]] bool drain() REQUIRES(mutex_);
  void drain_later();

  EventLoop& loop_;
  std::ostream& err_;
  const std::function<std::string(std::size_t)> told_;
  Way way_ = Way::kStream;
  UniqueFd own_;  ///< Standard error once more, where that can be opened without waiting.
  int fd_;
  Timer timer_;

  Mutex mutex_;
  std::deque<std::string> lines_ GUARDED_BY(mutex_);
  std::size_t written_ GUARDED_BY(mutex_) = 0;  ///< Of the first line.
  std::size_t dropped_ GUARDED_BY(mutex_) = 0;
  bool waiting_ GUARDED_BY(mutex_) = false;  ///< A later attempt is on its way.
  Lifetime lifetime_;
};

}  // namespace muster::cli
