#include "cli/progress.h"

#include "base/text.h"

namespace muster::cli {

Progress::Progress(std::ostream& err, std::string command, Duration first)
    : thread_([&err, command = std::move(command), first, over = over_.get_future()] {
        Duration waited = first;
        for (Duration pause = first; over.wait_for(pause) == std::future_status::timeout;) {
          err << command + ": still at it after " + format_duration(waited) + "\n" << std::flush;
          pause = waited;
          waited *= 2;
        }
      }) {}

Progress::~Progress() {
  over_.set_value();
  thread_.join();
}

}  // namespace muster::cli
