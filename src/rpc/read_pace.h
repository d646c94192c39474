#pragma once

#include <cstdint>

#include "base/time.h"

namespace muster::rpc {

/// Decides whether a connection is read as soon as something comes, or patiently, a little later
/// (EventLoop::set_patient). Where messages come fast and one by one, each costs a look, a read and
/// a send; read patiently, several share them. The delay is only worth its saving while it holds
/// nobody up, so a connection becomes patient when its messages come fast and few at a time, and
/// stays so while reads bring several of them and no fewer come in the same time than did without
/// delay. A client that waits for each answer brings one message a read, and is given up on at
/// once; after that it is tried again more and more rarely. Pure: told the time; one thread.
class ReadPace {
 public:
  struct Options {
    Duration window = 4ms;     ///< Measured in one piece.
    std::uint32_t hot = 80;    ///< Messages in a window from which on it is worth trying.
    std::uint32_t full = 16;   ///< Messages a read from which on nothing more is to be saved.
    Duration hot_for = 200ms;  ///< Then one window without delay shows anew what comes without.
    Duration rest_min = 50ms;  ///< After a trial that held somebody up; twice as long each time.
    Duration rest_max = 10s;
  };

  ReadPace() = default;

  /// A read has brought so many whole messages. Returns whether the next one is to be patient.
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
