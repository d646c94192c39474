#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/time.h"

namespace muster::rpc {

/// Limits the connections that have not yet agreed on TLS and HTTP/2, which costs memory and time.
/// A few of each host, and a number of all, are in progress; the others wait for their turn, host
/// by host, and cost little. A connection gives way to one that waits: a silent one soon, any other
/// when it takes long. So a client that only connects blocks no other, and many clients that come
/// at once are admitted one after the other. The work of each call is O(log n), times the
/// connections that it begins, however many hosts there are. Pure: the caller passes the time.
/// Threads: one.
class Anteroom {
 public:
  struct Options {
    std::size_t each_max = 64;  ///< In progress from one host.
    std::size_t all_max = 512;
    std::size_t waiting_max = 4'096;
    /// At most this many begin in one turn, so that others have theirs.
    std::size_t begin_max = 8;
    Duration patience = 2s;
    /// A connection that has sent nothing for so long since it came gives way.
    Duration silence = 250ms;
    /// The time in which the caller certainly looks for data of a connection that has begun.
    Duration glance = 20ms;
  };
  using Guest = std::uint64_t;  ///< Never issued twice; later ones are higher.
  enum class Why {
    kRoom,  ///< More connections wait than may; this one waited longest at the busiest host.
    kSlow,  ///< It gave way to one that waits.
  };
  struct Closed {
    Guest guest;
    Why why;
    bool operator==(const Closed&) const = default;
  };
  struct Turn {
    std::vector<Guest> begin;
    std::vector<Closed> close;  ///< To make room; they are forgotten here.
    bool more = false;          ///< Others may begin at once, in another turn.
  };

  explicit Anteroom(Options options) : options_(options) {}

  void came(Guest guest, const std::string& host, MonoTime now);
  /// The connection has sent something. Unknown ones are ignored.
  void spoke(Guest guest);
  /// The connection was admitted, or has gone. Unknown ones are ignored.
  void left(Guest guest);
  /// The connections to begin now, and those to close.
  [[nodiscard]] Turn next(MonoTime now);
  /// A connection waits: call next() again as time passes.
  [[nodiscard]] bool waiting() const { return guests_.size() > under_way_; }
  /// The number of hosts looked at so far, for tests.
  [[nodiscard]] std::uint64_t work() const { return work_; }

 private:
  /// A moment when a connection gives way, and which.
  using Due = std::pair<MonoTime, Guest>;
  struct Host {
    std::set<Guest> waiting;
    std::set<Due> under_way;
    std::uint64_t turn = 0;  ///< Hosts with lower numbers are served first.
  };
  using Hosts = std::map<std::string, Host>;
  /// Of a host's connections: how many there are, and one of them, the first to go last.
  struct Load {
    std::size_t count;
    Due first;
    Host* host;
    bool operator<(const Load& other) const {
      return std::tie(count, other.first) < std::tie(other.count, first);
    }
  };
  struct Visit {
    Hosts::iterator host;
    MonoTime came;
    MonoTime began;
    Due due;
    bool under_way = false;
    bool spoke = false;
  };

  /// Calls `change` with the host taken out of every index, and puts it back.
  template <typename Change>
  void alter(Host& host, Change change);
  void index(Host& host, bool present);
  void set_due(Guest guest, Visit& visit);
  void begin_first(Host& host, MonoTime now, Turn& turn);
  /// Begins a connection of a host that has places left; false if there is none to begin.
  [[nodiscard]] bool serve_open(MonoTime now, Turn& turn);
  /// The same of a host all of whose places are taken: one of its own gives way.
  [[nodiscard]] bool serve_full(MonoTime now, Turn& turn);
  void close(Due due, Why why, std::vector<Closed>& closed);

  const Options options_;
  Hosts hosts_;
  std::map<Guest, Visit> guests_;
  std::size_t under_way_ = 0;
  std::uint64_t turns_ = 0;
  std::uint64_t work_ = 0;
  std::vector<Closed> dropped_;

  // The indexes of the hosts.
  std::set<std::pair<std::uint64_t, Host*>> open_;  ///< With connections that wait, and a place.
  std::set<std::pair<Due, Host*>> full_;            ///< The same without a place.
  std::set<Load> busy_;                             ///< By connections in progress.
  std::set<Load> crowded_;                          ///< By connections that wait.
  std::set<Due> due_;                               ///< Of all connections in progress.
};

}  // namespace muster::rpc
