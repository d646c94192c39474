#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/loop.h"

namespace muster::rpc {

/// The sockets that calls come in on. gRPC sends every message by itself, unless two threads happen
/// to meet; here messages that follow each other closely on one connection leave together: the
/// kernel holds them until the loop has nothing else to do, and no longer than a moment.
///
/// gRPC owns the sockets and does not say when it closes one, so a number may be that of another
/// socket by now. All that happens to that one is to be held and released, which does no harm.
/// Loop thread only.
class Connections {
 public:
  /// Calls its argument once, before the loop sleeps the next time, or soon where it does not.
  using BeforeSleep = std::function<void(std::function<void()>)>;

  Connections(const Clock& clock, BeforeSleep before_sleep)
      : clock_(clock), before_sleep_(std::move(before_sleep)) {}

  /// One begins.
  void accepted(int fd);
  /// The one whose other side gRPC calls so, such as "ipv4:127.0.0.1:5000"; kNone when there is no
  /// such.
  [[nodiscard]] int find(const std::string& peer) const;
  static constexpr int kNone = -1;
  /// How many have not ended. Asks the system about each.
  [[nodiscard]] std::size_t open() const;

  /// Call it before each message.
  void writes(int fd);

 private:
  struct Connection {
    std::string peer{};
    MonoTime written = MonoTime{} - 1h;
    bool held = false;
  };

  void release();

  const Clock& clock_;
  BeforeSleep before_sleep_;
  std::unordered_map<int, Connection> all_;
  std::unordered_map<std::string, int> by_peer_;
  std::vector<int> held_;
  Lifetime lifetime_;
};

}  // namespace muster::rpc
