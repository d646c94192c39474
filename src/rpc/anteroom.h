#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster::rpc {

/// Decides who of those that have connected is let in, that is: agrees on TLS and begins to speak
/// HTTP/2, which costs memory and time. Each host has a few under way and all have some together;
/// the others wait for their turn, host by host, and cost little. Whoever is under way for long
/// makes place for one that waits. So somebody who only connects keeps nobody else out, and many
/// who come at once are let in one after the other. Pure: told the time; one thread.
class Anteroom {
 public:
  struct Options {
    std::size_t each_max = 64;  ///< Under way from one host.
    std::size_t all_max = 512;
    std::size_t waiting_max = 4'096;
    Duration patience = 2s;
  };
  using Guest = std::uint64_t;  ///< Never given twice.
  struct Turn {
    std::vector<Guest> begin;
    std::vector<Guest> close;  ///< For somebody else; they are forgotten here.
  };

  explicit Anteroom(Options options) : options_(options) {}

  void came(Guest guest, const std::string& host);
  /// It is in, or it has gone. Others are unknown here, and ignored.
  void left(Guest guest);
  /// Who begins now, and who is to be closed.
  [[nodiscard]] Turn next(MonoTime now);
  /// Somebody waits: time decides as well.
  [[nodiscard]] bool waiting() const { return waiting_ > 0; }

 private:
  struct Host {
    std::deque<Guest> waiting;
    std::map<Guest, MonoTime> under_way;
  };
  using Hosts = std::map<std::string, Host>;

  void begin_first(Hosts::iterator host, MonoTime now, Turn& turn);
  /// Whether the one of these that is under way longest has made place.
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
