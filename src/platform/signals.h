#pragma once

#include <signal.h>

#include "base/time.h"
#include "platform/unique_fd.h"

namespace muster {

/// Asks to stop (SIGTERM, SIGINT) as something that a thread waits for, so that no work is done in
/// a signal handler. Make one before any other thread starts: they inherit that the signals are
/// left to wait(). One for a process.
class StopSignals {
 public:
  /// Whether SIGHUP asks to stop, too. Under nohup(1), which has it ignored, it never does.
  enum class HangUp { kNotTaken, kStops };

  explicit StopSignals(HangUp hang_up = HangUp::kNotTaken);
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Until the first request. From then on a second signal ends the process at once, for people who
  /// have waited long enough.
  void wait();
  /// The same, for so long at most; false when nobody has asked by then.
  [[nodiscard]] bool wait_for(Duration limit);
  /// As if a signal had come, for the program's own reasons. Any thread.
  void request();

 private:
  [[nodiscard]] bool wait_ms(int limit);

  sigset_t set_;
  UniqueFd signals_;
  UniqueFd requests_;
};

/// A write to a pipe or socket whose reader has gone becomes an error, and does not end the
/// process.
void ignore_broken_pipes();
/// A write beyond the largest file that this process may write (ulimit -f) becomes an error, and
/// does not end the process.
void ignore_file_size_signal();

}  // namespace muster
