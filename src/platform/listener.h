#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/event_loop.h"
#include "platform/unique_fd.h"

namespace muster {

struct ListenerOptions {
  /// An address or a name; empty, 0.0.0.0 or ::, every interface, over IPv4 and IPv6.
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0 picks one.
  /// False: new connections wait in the kernel until it is true again. Empty: always.
  std::function<bool()> room{};
  /// A connection whose descriptor has this number or a higher one is closed at once; 0: none is.
  /// The kernel hands out the lowest number that is free, so at least so many are open then, and
  /// whatever else this process has to open still finds one.
  int descriptors_max = 0;
  /// Called for each that was closed so, just before.
  std::function<void(int fd)> refused{};
};

/// Accepts TCP connections on every address that a name stands for. What accept() refuses for want
/// of descriptors or memory is tried again: a listener never goes deaf.
///
/// Loop thread only.
class Listener {
 public:
  Listener(EventLoop& loop, ListenerOptions options, std::function<void(UniqueFd)> accepted);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Answers with the port. kInvalid when the name stands for nothing, kUnavailable when the port
  /// is taken.
  [[nodiscard]] Result<std::uint16_t> start();
  /// Another ListenerOptions::descriptors_max from now on.
  void set_descriptors_max(int most) { options_.descriptors_max = most; }
  /// Takes no more; connections that were handed over are not touched.
  void close();

 private:
  void watch();
  void pause();
  void accept(int socket);

  EventLoop& loop_;
  ListenerOptions options_;
  std::function<void(UniqueFd)> accepted_;
  std::vector<UniqueFd> sockets_;
  Timer pause_;
};

/// The host of a socket's peer, without a port. IPv4 over IPv6 is shown as IPv4; empty if
/// unknown.
[[nodiscard]] std::string remote_host(int fd);

}  // namespace muster
