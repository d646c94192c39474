#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rpc/message_reader.h"
#include "rpc/session.h"

namespace muster::rpc {
namespace session_test {

inline const std::vector<Header> kRequest = {{":method", "POST"},
                                             {":scheme", "http"},
                                             {":path", "/muster.v1.Test/Call"},
                                             {":authority", "here"},
                                             {"content-type", "application/grpc"},
                                             {"te", "trailers"}};
inline const std::vector<Header> kAnswer = {{":status", "200"},
                                            {"content-type", "application/grpc"}};
inline const std::vector<Header> kEnd = {{"grpc-status", "0"}};

/// One end: remembers what it was told, and consumes at once unless it is lazy.
struct End final : SessionEvents {
  struct Seen {
    std::map<std::string, std::string> headers;
    std::map<std::string, std::string> trailers;
    std::vector<std::string> messages;
    std::size_t bytes = 0;
    bool ended = false;
    int drained = 0;
    std::optional<std::uint32_t> closed;
    MessageReader reader{1 << 24};
  };

  End(Session::Side side, const SessionOptions& options = {})
      : session(side, options, *this, now) {}

  void on_headers(StreamId id, const HeaderBlock& block, bool end) override {
    seen[id].ended = end;
    for (std::size_t i = 0; i < block.size(); ++i) {
      seen[id].headers.emplace(block[i].name, block[i].value);
    }
    last = id;
  }
  void on_data(StreamId id, std::string_view bytes) override {
    seen[id].bytes += bytes.size();
    ASSERT_TRUE(seen[id].reader.feed(bytes, seen[id].messages));
    if (!lazy) session.consume(id, bytes.size());
  }
  void on_trailers(StreamId id, const HeaderBlock& block) override {
    for (std::size_t i = 0; i < block.size(); ++i) {
      seen[id].trailers.emplace(block[i].name, block[i].value);
    }
  }
  void on_end(StreamId id) override { seen[id].ended = true; }
  void on_drained(StreamId id) override { ++seen[id].drained; }
  void on_closed(StreamId id, std::uint32_t error) override { seen[id].closed = error; }
  void on_goaway(StreamId stream, std::uint32_t error) override { goaway = {stream, error}; }
  void on_pong() override { ++pongs; }

  MonoTime now{};
  bool lazy = false;
  std::map<StreamId, Seen> seen;
  StreamId last = 0;
  std::optional<std::pair<StreamId, std::uint32_t>> goaway;
  int pongs = 0;
  Session session;
};

/// A client and a server that hear each other.
struct Pair {
  explicit Pair(const SessionOptions& of_server = {}) : server(Session::Side::kServer, of_server) {
    settle();
  }

  /// Until nobody has anything to say.
  void settle() {
    for (int i = 0; i < 1000; ++i) {
      const bool asked = step(client, server);
      const bool answered = step(server, client);
      if (!asked && !answered) return;
    }
    FAIL() << "they never stop";
  }
  static bool step(End& from, End& to) {
    std::string bytes;
    from.session.produce(bytes, 64 * 1024);
    to.session.receive(bytes, to.now);
    return !bytes.empty();
  }
  StreamId open() { return client.session.open(kRequest).value(); }

  End client{Session::Side::kClient};
  End server;
};

}  // namespace session_test
}  // namespace muster::rpc
