#include "client/rpc_transport.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "platform/system_clock.h"
#include "rpc/call.h"
#include "rpc/channel.h"
#include "rpc/tls.h"

namespace muster::client {
namespace {

/// Names every call, so that a server's log can be searched for it. Loop thread only.
class RequestNames {
 public:
  std::string next() { return process_ + "-" + std::to_string(++count_); }

 private:
  static std::string some_name() {
    std::array<char, 16> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), system_random().next(), 16).ptr;
    return {digits.data(), end};
  }

  const std::string process_ = some_name();
  std::uint64_t count_ = 0;
};

/// A proxy on the way answers UNAVAILABLE as well, for calls that it may have passed on: that
/// nothing was done is believed only of a server that names itself.
bool by_a_proxy(const rpc::Outcome& outcome) {
  return outcome.code == rpc::Code::kUnavailable && outcome.trailers.find(rpc::kServerKey).empty();
}

Reach reach_of(const rpc::Outcome& outcome) {
  switch (outcome.word) {
    case rpc::Outcome::Word::kServer:
      return by_a_proxy(outcome) ? Reach::kSent : Reach::kAnswered;
    case rpc::Outcome::Word::kNobody:
      return Reach::kSent;
    case rpc::Outcome::Word::kNeverLeft:
      break;
  }
  return Reach::kUnsent;
}

Obstacle obstacle_of(rpc::Trouble::Kind kind) {
  using Kind = rpc::Trouble::Kind;
  switch (kind) {
    case Kind::kName:
      return Obstacle::kName;
    case Kind::kRefused:
      return Obstacle::kNobodyListens;
    case Kind::kClosed:
      return Obstacle::kClosed;
    case Kind::kSilent:
      return Obstacle::kSilent;
    case Kind::kNotGrpc:
      return Obstacle::kNotGrpc;
    case Kind::kTls:
      return Obstacle::kTls;
    case Kind::kTurnedAway:
      return Obstacle::kTurnedAway;
    case Kind::kOther:
      break;
  }
  return Obstacle::kOther;
}

RpcStatus to_status(const rpc::Outcome& outcome) {
  RpcStatus status;
  status.code = static_cast<RpcCode>(outcome.code);
  status.reach = reach_of(outcome);
  status.obstacle = obstacle_of(outcome.trouble.kind);
  // The explanation of an unsent call names the server, so that the cause is enough.
  status.message = status.reach == Reach::kUnsent ? outcome.trouble.text : outcome.message;
  status.leader_address = outcome.trailers.find(rpc::kLeaderKey);
  status.replaced = !outcome.trailers.find(rpc::kReplacedKey).empty();
  return status;
}

class RpcStream final : public Stream {
 public:
  explicit RpcStream(std::unique_ptr<rpc::ClientCall> call) : call_(std::move(call)) {}
  void send(std::string message) override { call_->send(rpc::payload(std::move(message))); }
  void close() override { call_->finish(); }

 private:
  std::unique_ptr<rpc::ClientCall> call_;
};

class RpcConnection final : public Connection {
 public:
  RpcConnection(std::unique_ptr<rpc::Channel> channel, std::shared_ptr<RequestNames> names)
      : channel_(std::move(channel)), names_(std::move(names)) {}

  std::unique_ptr<Call> unary(const std::string& method, std::string body, MonoTime by,
                              UnaryDone done) override {
    auto answer = std::make_shared<std::string>();
    StreamEvents events;
    events.message = [answer](std::string message) { *answer = std::move(message); };
    events.end = [answer, done = std::move(done)](const RpcStatus& status) {
      done(status, std::move(*answer));
    };
    auto call = stream(method, by, std::move(events));
    call->send(std::move(body));
    call->close();
    return call;
  }

  std::unique_ptr<Stream> stream(const std::string& method, std::optional<MonoTime> by,
                                 StreamEvents events) override {
    const std::string name = names_->next();
    log_debug("request sent", {{"request", name}, {"method", method}});
    return std::make_unique<RpcStream>(
        channel_->start(method, by, {{rpc::kRequestIdKey, name}},
                        {.message = std::move(events.message),
                         .end = [end = std::move(events.end)](
                                    const rpc::Outcome& outcome) { end(to_status(outcome)); },
                         .sent = std::move(events.sent)}));
  }

 private:
  std::unique_ptr<rpc::Channel> channel_;
  std::shared_ptr<RequestNames> names_;
};

/// How to get to `server`, host:port. One that a server has named may be no address at all: port 0
/// then, where nobody can be reached.
rpc::ChannelOptions options_for(const std::string& server) {
  const std::size_t colon = server.rfind(':');
  const std::uint64_t port = parse_unsigned(server.substr(colon + 1)).value_or(0);
  rpc::ChannelOptions options;
  options.host = server.substr(0, colon);
  if (options.host.starts_with('[') && options.host.ends_with(']')) {
    options.host = options.host.substr(1, options.host.size() - 2);
  }
  options.port = static_cast<std::uint16_t>(port <= 65535 ? port : 0);
  options.authority = server;
  // A server that comes back is noticed soon.
  options.backoff_min = 100ms;
  options.backoff_max = 1s;
  options.connection.ready_within = 2s;
  // Watches say something every 30 s: one that is well is not asked whether it is alive.
  options.connection.ask_after = 45s;
  // A topology of a hundred thousand nodes is one message, from however far away.
  options.answer_bytes_max = std::size_t{1} << 30U;
  options.connection.session.stream_window = 8 << 20;
  options.connection.session.connection_window = 16 << 20;
  return options;
}

}  // namespace

struct RpcTransport::Shared {
  std::shared_ptr<rpc::ClientTls> tls;  ///< Null: plaintext.
  std::optional<rpc::SendTurn> turn;    ///< There while there is the thread.
  std::shared_ptr<RequestNames> names = std::make_shared<RequestNames>();
};

Result<std::unique_ptr<RpcTransport>> RpcTransport::open(const TlsFiles& tls) {
  auto shared = std::make_unique<Shared>();
  if (tls.any()) {
    // Read here, so that what is missing is said at once.
    auto opened = rpc::open_client_tls(tls);
    if (!opened) return opened.error();
    shared->tls = std::move(*opened);
  }
  return std::unique_ptr<RpcTransport>(new RpcTransport(std::move(shared)));
}

RpcTransport::RpcTransport(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {
  shared_->turn.emplace(thread_.loop());
}

RpcTransport::~RpcTransport() {
  // On the loop, where it may have to flush.
  thread_.run([this] { shared_->turn.reset(); });
}

std::unique_ptr<Connection> RpcTransport::connect(const std::string& server) {
  rpc::ChannelOptions options = options_for(server);
  if (shared_->tls) {
    options.tls = [tls = shared_->tls, host = options.host] { return tls->to(host); };
  }
  return std::make_unique<RpcConnection>(
      std::make_unique<rpc::Channel>(loop(), *shared_->turn, std::move(options), system_random()),
      shared_->names);
}

}  // namespace muster::client
