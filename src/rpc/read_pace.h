#pragma once

#include <cstdint>

#include "base/time.h"

namespace muster::rpc {

/// Decides whether a connection is read at once or patiently, a little later
/// (EventLoop::set_patient). If messages arrive fast and singly, each costs a poll, a read and a
/// send; with patient reading several share them. The delay pays only while it slows no client
/// down. So a connection becomes patient when its messages arrive fast and few at a time, and stays
/// so while each read brings several and the rate does not fall. A client that waits for each
/// answer brings one message per read; it is read at once again, and tried more and more rarely.
/// Pure: the caller passes the time. Threads: one.
class ReadPace {
 public:
  struct Options {
    Duration window = 4ms;     ///< Measured in one piece.
    std::uint32_t hot = 80;    ///< Messages per window that make a trial worthwhile.
    std::uint32_t full = 16;   ///< Messages per read beyond which there is nothing to save.
    Duration hot_for = 200ms;  ///< Then one window without delay measures the rate again.
    Duration rest_min = 50ms;  ///< After a trial that slowed a client; doubles each time.
    Duration rest_max = 10s;
  };

  ReadPace() = default;

  /// A read has brought `messages` complete messages. Returns whether to read patiently next.
  [[nodiscard]] bool read(std::uint32_t messages, MonoTime now) {
    return read(messages, now, Options());
  }
  [[nodiscard]] bool read(std::uint32_t messages, MonoTime now, const Options& options);

 private:
  void begin_window(MonoTime now);
  void give_up(MonoTime now, const Options& options);
  void judge(MonoTime now, const Options& options);

  MonoTime window_began_{};
  MonoTime hot_since_{};
  MonoTime rests_until_{};
  Duration rest_{0};
  std::uint32_t messages_ = 0;  ///< In this window, and in how many reads.
  std::uint32_t reads_ = 0;
  std::uint32_t without_delay_ = 0;  ///< Messages that came in a window before the delay.
  std::uint8_t lone_ = 0;            ///< Patient reads in a row that brought one message.
  bool patient_ = false;
};

}  // namespace muster::rpc
