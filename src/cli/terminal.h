#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/line_writer.h"

namespace muster::cli {

struct WindowSize {
  std::size_t rows = 24;
};

/// Where a command prints. Answers go to `out`, everything else to `err`. One thread, but for
/// note().
struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool colour = false;    ///< `out` is a terminal and NO_COLOR is not set.
  bool progress = false;  ///< `err` is a terminal: a user may be waiting.
  /// Writes lines to `err` without waiting for its reader, for any thread. Unset: they go there
  /// directly.
  std::function<void(const std::string&)> told{};
  /// Writes events to `out` without waiting for its reader. Unset: they go there directly.
  LineWriter* events = nullptr;
  /// How large the window is at this moment; set when `out` is a terminal, so that a view may be
  /// drawn over the one before.
  std::function<WindowSize()> window{};
  int write_error = 0;  ///< The number of the first error of line() and finish(); 0: none.

  /// One line, at once: the reader of a pipe sees it at once.
  void line(const std::string& text);
  /// As line(), for a command that has other things to do than to wait for a reader. Any thread, if
  /// `events` is set.
  void event(const std::string& text);
  /// A text that replaces the one before on a terminal, such as a screen; as event() otherwise.
  void draw(std::string text);
  /// True when nobody will read what is printed.
  [[nodiscard]] bool unread() const;
  /// Starts the threads that note() and event() need, so that a machine that has none to give is
  /// found out at once.
  void prepare();
  /// Waits a moment for what is left to be written. An error says why it cannot be.
  [[nodiscard]] Status finish();
  /// Calls `act`, on any thread, when unread() becomes true by an event; an empty one takes the
  /// wish back. Without `events` only unread() tells it.
  void when_unread(std::function<void()> act) const;
  /// One line or more, each with its newline, about what has happened: to `err`, and a loop that
  /// has other things to do is not held up.
  void note(const std::string& lines);
  /// `text` in the given colour where colours are welcome.
  [[nodiscard]] std::string green(const std::string& text) const;
  [[nodiscard]] std::string red(const std::string& text) const;
  [[nodiscard]] std::string yellow(const std::string& text) const;
  [[nodiscard]] std::string dim(const std::string& text) const;
};

/// Rows under their headings, each column as wide as its widest cell.
[[nodiscard]] std::string format_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace muster::cli
