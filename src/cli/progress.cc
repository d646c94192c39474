#include "cli/progress.h"

#include "base/text.h"

namespace muster::cli {

Progress::Progress(Terminal& terminal, std::string command, Duration first)
    : thread_([&terminal, command = std::move(command), first, over = over_.get_future()] {
        Duration waited = first;
        for (Duration pause = first; over.wait_for(pause) == std::future_status::timeout;) {
          terminal.note(command + ": still at it after " + format_duration(waited) + "\n");
          pause = waited;
          waited *= 2;
        }
      }) {}

Progress::~Progress() {
  over_.set_value();
  thread_.join();
}

}  // namespace muster::cli
