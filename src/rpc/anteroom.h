#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster::rpc {

/// Limits the connections that have not yet agreed on TLS and HTTP/2, which costs memory and time.
/// A few of each host, and a number of all, are in progress; the others wait for their turn, host
/// by host, and cost little. A connection that takes long gives way to one that waits. So a client
/// that only connects blocks no other, and many clients that come at once are admitted one after
/// the other. Pure: the caller passes the time. Threads: one.
class Anteroom {
 public:
  struct Options {
    std::size_t each_max = 64;  ///< In progress from one host.
    std::size_t all_max = 512;
    std::size_t waiting_max = 4'096;
    Duration patience = 2s;
  };
  using Guest = std::uint64_t;  ///< Never issued twice.
  struct Turn {
    std::vector<Guest> begin;
    std::vector<Guest> close;  ///< To make room; they are forgotten here.
  };

  explicit Anteroom(Options options) : options_(options) {}

  void came(Guest guest, const std::string& host);
  /// The connection was admitted, or has gone. Unknown ones are ignored.
  void left(Guest guest);
  /// The connections to begin now, and those to close.
  [[nodiscard]] Turn next(MonoTime now);
  /// A connection waits: call next() again as time passes.
  [[nodiscard]] bool waiting() const { return waiting_ > 0; }

 private:
  struct Host {
    std::deque<Guest> waiting;
    std::map<Guest, MonoTime> under_way;
  };
  using Hosts = std::map<std::string, Host>;

  void begin_first(Hosts::iterator host, MonoTime now, Turn& turn);
  /// Whether the oldest connection in progress there has given way.
  [[nodiscard]] bool make_place(Host& host, MonoTime now, Turn& turn);
  [[nodiscard]] Hosts::iterator busiest();
  void drop_one_waiting();

  const Options options_;
  Hosts hosts_;
  std::map<Guest, Hosts::iterator> guests_;
  std::size_t waiting_ = 0;
  std::size_t under_way_ = 0;
  std::vector<Guest> dropped_;
};

}  // namespace muster::rpc
