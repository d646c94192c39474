#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "cli/terminal.h"

namespace muster {
class StopSignals;
}

/// What --watch does: the same question again and again, for people and for programs.
namespace muster::cli {

/// What one look brings.
struct Look {
  std::string screen;  ///< For a terminal: whole lines.
  std::string line;    ///< For everything else: one line, without its end.
  std::string key;     ///< `line` is printed again when this has changed.
};

/// Looks each `interval` until SIGTERM or SIGINT. On a terminal each screen is drawn over the one
/// before, cut to the window, and the last one stays; with `lines`, and where there is no terminal,
/// a line is printed for each change. A first look that fails is the command's failure; later ones
/// are told, and the looking goes on.
[[nodiscard]] Result<int> follow(Terminal& terminal, StopSignals& signals, bool lines,
                                 const std::function<Result<Look>()>& look, Duration interval = 1s);

/// One screen as it is sent to a window of that size.
[[nodiscard]] std::string frame(const std::string& screen, WindowSize size);

}  // namespace muster::cli
