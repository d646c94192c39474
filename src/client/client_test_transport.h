#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/transport.h"
#include "sim/world.h"

namespace muster::client::testing {

/// A network in simulated time whose servers are a function of the test.
class TestTransport final : public Transport {
 public:
  using Reply = std::function<void(const RpcStatus& status, std::string body)>;

  /// Answers a unary call by calling `reply`, now, later or never.
  std::function<void(const std::string& server, const std::string& method, Reply reply)> serve =
      [](const auto&, const auto&, const auto&) {};

  /// One stream that was opened. Kept after its end.
  struct Opened {
    std::string server;
    std::string method;
    std::vector<std::string> sent;
    StreamEvents events;
    bool over = false;

    void deliver(const std::string& message) {
      if (over) return;
      const auto listener = events.message;
      listener(message);
    }
    void end(const RpcStatus& status) {
      if (std::exchange(over, true)) return;
      const auto listener = events.end;
      listener(status);
    }
  };

  explicit TestTransport(Loop& loop) : loop_(loop) {}
  [[nodiscard]] Loop& loop() override { return loop_; }
  [[nodiscard]] std::unique_ptr<Connection> connect(const std::string& server) override {
    return std::make_unique<TestConnection>(*this, server);
  }
  [[nodiscard]] std::vector<std::shared_ptr<Opened>>& streams() { return streams_; }

 private:
  class TestStream final : public Stream {
   public:
    explicit TestStream(std::shared_ptr<Opened> opened) : opened_(std::move(opened)) {}
    ~TestStream() override { opened_->over = true; }
    void send(std::string message) override { opened_->sent.push_back(std::move(message)); }
    void close() override {}

   private:
    std::shared_ptr<Opened> opened_;
  };

  class TestCall final : public Call {
   public:
    explicit TestCall(std::shared_ptr<bool> alive) : alive_(std::move(alive)) {}
    ~TestCall() override { *alive_ = false; }

   private:
    std::shared_ptr<bool> alive_;
  };

  class TestConnection final : public Connection {
   public:
    TestConnection(TestTransport& transport, std::string server)
        : transport_(transport), server_(std::move(server)) {}
    std::unique_ptr<Call> unary(const std::string& method, std::string /*body*/, MonoTime by,
                                UnaryDone done) override {
      auto alive = std::make_shared<bool>(true);
      const auto settle = [alive, done = std::move(done)](const RpcStatus& status,
                                                          const std::string& body) {
        if (std::exchange(*alive, false)) done(status, body);
      };
      Loop& loop = transport_.loop_;
      loop.at(by, [settle] { settle({RpcCode::kDeadlineExceeded, "", Reach::kSent, {}}, ""); });
      // Calls outlive their connection.
      loop.post([transport = &transport_, server = server_, method, settle, &loop] {
        transport->serve(
            server, method, [settle, &loop](const RpcStatus& status, std::string body) {
              loop.post([settle, status, body = std::move(body)] { settle(status, body); });
            });
      });
      return std::make_unique<TestCall>(alive);
    }
    std::unique_ptr<Stream> stream(const std::string& method, std::optional<MonoTime> /*by*/,
                                   StreamEvents events) override {
      auto opened = std::make_shared<Opened>();
      opened->server = server_;
      opened->method = method;
      opened->events = std::move(events);
      transport_.streams_.push_back(opened);
      return std::make_unique<TestStream>(opened);
    }

   private:
    TestTransport& transport_;
    std::string server_;
  };

  Loop& loop_;
  std::vector<std::shared_ptr<Opened>> streams_;
};

}  // namespace muster::client::testing
