// Our own client, on a loop of ours.
#include <string>

#include "bench/rpc_load.h"
#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "rpc/channel.h"
#include "rpc/tls.h"

namespace muster::bench {
namespace {

/// Every server of gRPC answers it, with a refusal if need be.
constexpr const char* kGreeting = "/grpc.health.v1.Health/Check";

CallEnd end_of(const rpc::Outcome& outcome) {
  if (outcome.ok()) return {};
  return {"status " + std::to_string(static_cast<int>(outcome.code)) + ": " + outcome.message};
}

class OwnStream final : public ByteStream {
 public:
  OwnStream(rpc::Channel& channel, const std::string& method,
            std::function<void(const std::string&)> on_answer)
      : call_(channel.start(method, std::nullopt, {},
                            {.message = [on_answer = std::move(on_answer)](
                                            const std::string& message) { on_answer(message); },
                             .end =
                                 [method](const rpc::Outcome& outcome) {
                                   give_up("a stream of " + method, end_of(outcome).error);
                                 }})) {}
  void write(std::string message) override { call_->send(rpc::payload(std::move(message))); }

 private:
  std::unique_ptr<rpc::ClientCall> call_;
};

class OwnLink final : public RpcLink {
 public:
  OwnLink(EventLoop& loop, rpc::SendTurn& turn, rpc::ChannelOptions options, std::uint64_t seed)
      : loop_(loop), channel_(loop, turn, std::move(options), Random(seed)) {}

  void call(const std::string& method, std::string request, Duration timeout, Done done) override {
    struct Call {
      std::string answer;
      std::unique_ptr<rpc::ClientCall> handle;
    };
    auto call = std::make_shared<Call>();
    call->handle = channel_.start(
        method, loop_.now() + timeout, {},
        {.message = [raw = call.get()](std::string message) { raw->answer = std::move(message); },
         .end =
             [call, done = std::move(done)](const rpc::Outcome& outcome) {
               const auto ended = std::move(call->handle);
               done(end_of(outcome), call->answer);
             }});
    call->handle->send(rpc::payload(std::move(request)));
    call->handle->finish();
  }
  std::unique_ptr<ByteStream> stream(const std::string& method,
                                     std::function<void(const std::string&)> on_answer) override {
    return std::make_unique<OwnStream>(channel_, method, std::move(on_answer));
  }
  [[nodiscard]] bool connected() const { return channel_.connected(); }

 private:
  EventLoop& loop_;
  rpc::Channel channel_;
};

class OwnPump final : public RpcPump {
 public:
  std::vector<LinkPtr> connect_all(const std::string& endpoint, std::size_t count,
                                   const std::optional<LoadTls>& tls) override {
    rpc::ChannelOptions options;
    const auto colon = endpoint.rfind(':');
    options.host = endpoint.substr(0, colon);
    options.port = static_cast<std::uint16_t>(std::stoi(endpoint.substr(colon + 1)));
    if (tls) {
      auto context = rpc::tls_context({tls->authorities, tls->certificate, tls->key});
      MUSTER_CHECK(context.ok());
      options.tls = [context = *context, host = options.host] {
        return rpc::tls_to(*context, host);
      };
    }
    std::vector<LinkPtr> links;
    for (std::size_t i = 0; i < count; ++i) {
      auto link = std::make_shared<OwnLink>(loop_, turn_, options, ++seed_);
      // One after another, as with the other client.
      bool answered = false;
      link->call(kGreeting, "", 30s, [&](const CallEnd&, const std::string&) { answered = true; });
      run_until([&] { return answered; });
      if (!link->connected()) give_up(endpoint, "no connection");
      links.push_back(std::move(link));
    }
    return links;
  }
  void after(Duration delay, std::function<void()> task) override {
    loop_.at(loop_.now() + delay, std::move(task));
  }

 private:
  bool step(MonoTime until) override {
    loop_.run_once(until);
    return boot_now() < until;
  }

  EventLoop loop_;
  rpc::SendTurn turn_{loop_};
  std::uint64_t seed_ = 0;
};

}  // namespace

std::unique_ptr<RpcPump> own_pump() {
  return std::make_unique<OwnPump>();
}

}  // namespace muster::bench
