#include "cli/follow.h"

#include <optional>

#include "base/text.h"
#include "cli/exit_code.h"
#include "platform/signals.h"

namespace muster::cli {
namespace {

// A screen of its own, without a cursor, where lines that are too long are cut and not wrapped.
constexpr const char* kEnter = "\033[?1049h\033[?25l\033[?7l";
constexpr const char* kLeave = "\033[?7h\033[?25h\033[?1049l";

/// Shows looks as they come.
class Onlooker {
 public:
  Onlooker(Terminal& terminal, bool draws) : terminal_(terminal), draws_(draws) {
    if (draws_) terminal_.draw(kEnter);
  }
  ~Onlooker() {
    if (draws_) terminal_.draw(kLeave + last_);
  }
  Onlooker(const Onlooker&) = delete;
  Onlooker& operator=(const Onlooker&) = delete;

  void show(const Look& look) {
    failed_ = false;
    if (draws_) {
      last_ = look.screen;
      terminal_.draw(frame(last_, terminal_.window()));
    } else if (key_ != look.key) {
      key_ = look.key;
      terminal_.event(look.line);
    }
  }
  void show(const Error& error) {
    if (draws_) {
      const std::string trouble = terminal_.red(error.message) + "\n";
      terminal_.draw(frame(trouble + last_, terminal_.window()));
    } else if (!failed_) {
      terminal_.note("muster: " + error.message + "\n");
    }
    failed_ = true;
  }

 private:
  Terminal& terminal_;
  const bool draws_;
  std::string last_;
  std::optional<std::string> key_;
  bool failed_ = false;
};

}  // namespace

std::string frame(const std::string& screen, WindowSize size) {
  std::vector<std::string_view> lines = split(screen, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  std::string rest;
  if (lines.size() > size.rows && size.rows > 0) {
    rest = "… and " + std::to_string(lines.size() - size.rows + 1) + " lines more";
    lines.resize(size.rows - 1);
    lines.emplace_back(rest);
  }
  std::string text = "\033[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += "\n";
    text += std::string(lines[i]) + "\033[K";
  }
  return text + "\033[J";
}

Result<int> follow(Terminal& terminal, StopSignals& signals, bool lines,
                   const std::function<Result<Look>()>& look, Duration interval) {
  Result<Look> next = look();
  if (!next) return next.error();
  Onlooker onlooker(terminal, terminal.window && !lines);
  onlooker.show(*next);
  // A reader that has stopped reading holds up neither the looks nor a signal.
  while (!terminal.unread() && !signals.wait_for(interval)) {
    next = look();
    if (next) {
      onlooker.show(*next);
    } else {
      onlooker.show(next.error());
    }
  }
  return kDone;
}

}  // namespace muster::cli
