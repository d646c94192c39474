#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/event_loop.h"
#include "rpc/channel.h"
#include "rpc/server.h"

namespace muster::rpc {
namespace server_test {

struct Told {
  std::vector<std::string> messages;
  std::optional<Outcome> outcome;
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
