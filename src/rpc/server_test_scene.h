#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/event_loop.h"
#include "platform/testing/loopback.h"
#include "rpc/channel.h"
#include "rpc/server.h"

namespace muster::rpc {
namespace server_test {

struct Told {
  std::vector<std::string> messages;
  std::optional<Outcome> outcome;
};

/// A client of which a test says when it talks, and when it closes.
struct BareClient final : SessionEvents {
  BareClient(std::uint16_t port, MonoTime now)
      : fd(testing::dial_loopback(port)), session(Session::Side::kClient, {}, *this, now) {}

  void on_headers(StreamId, const HeaderBlock& headers, bool) override {
    answered = true;
    status = headers.find("grpc-status");
  }
  void on_data(StreamId, std::string_view) override {}
  void on_trailers(StreamId, const HeaderBlock&) override {}
  void on_end(StreamId) override {}
  void on_drained(StreamId) override {}
  void on_closed(StreamId, std::uint32_t) override {}
  void on_goaway(StreamId, std::uint32_t) override {}
  void on_pong() override {}

  bool write() {
    std::string out;
    session.produce(out, 1 << 16);
    return out.empty() || ::send(fd.get(), out.data(), out.size(), MSG_NOSIGNAL) > 0;
  }
  /// What has come; none at the end.
  std::optional<std::string> read() {
    std::array<char, 4096> in{};
    const ssize_t count = ::recv(fd.get(), in.data(), in.size(), MSG_DONTWAIT);
    if (count == 0) return std::nullopt;
    return std::string(in.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  /// Whether the server has ended what it sends. A connection that was reset is not ended.
  bool talk(MonoTime now) {
    if (!write()) return false;
    const auto in = read();
    if (in) session.receive(*in, now);
    return !in;
  }

  bool answered = false;
  std::string status;  ///< The code, if the first headers were the last.
  UniqueFd fd;
  Session session;
};

/// A server and a client of it, on one loop.
class ServerTest : public ::testing::Test {
 protected:
  bool until(const std::function<bool()>& holds) {
    const MonoTime end = loop.now() + 20s;
    while (!holds() && loop.now() < end) loop.run_until(loop.now() + 1ms);
    return holds();
  }
  void start(ServerOptions options) {
    options.id = "s1";
    options.call_refused = [this] { ++refused; };
    server = std::make_unique<Server>(loop, std::move(options),
                                      [this](const CallPtr& call) { on_call(call); });
    port = server->start().value();
    channel = connect();
  }
  std::unique_ptr<Channel> connect(ChannelOptions options = {}) {
    options.host = "127.0.0.1";
    options.port = port;
    return std::make_unique<Channel>(loop, server->turn(), std::move(options), Random(1));
  }
  std::unique_ptr<ClientCall> begin(Told& told, const std::string& method = "/a.B/C",
                                    Duration within = 20s, Metadata metadata = {}) {
    return channel->start(method, loop.now() + within, std::move(metadata),
                          {.message = [&told](std::string m) { told.messages.push_back(m); },
                           .end = [&told](const Outcome& o) { told.outcome = o; }});
  }
  Told ask(const std::string& question) {
    Told told;
    const auto call = begin(told);
    call->send(payload(question));
    call->finish();
    EXPECT_TRUE(until([&] { return told.outcome.has_value(); }));
    return told;
  }
  static void echo(const CallPtr& call) {
    call->read([call](std::optional<std::string> message) {
      call->reply(payload("re: " + message.value_or("nothing")));
    });
  }
  /// Answers each message until there are no more.
  static void converse(const CallPtr& call) {
    call->read([call](std::optional<std::string> message) {
      if (!message) return call->finish({});
      call->write(payload("re: " + *message), [call] { converse(call); });
    });
  }

  EventLoop loop;
  std::function<void(const CallPtr&)> on_call = echo;
  int refused = 0;
  std::uint16_t port = 0;
  std::unique_ptr<Server> server;
  std::unique_ptr<Channel> channel;
};

}  // namespace server_test
}  // namespace muster::rpc
