#include "rpc/server_call.h"

#include <nghttp2/nghttp2.h>

#include <utility>

#include "rpc/wire.h"

namespace muster::rpc {
namespace {

/// For clients that name no deadline.
constexpr Duration kPatience = 30s;
/// What a call costs here that was turned away, until its client has taken the answer.
constexpr std::size_t kTurnedAwayBytes = 3072;
/// As much of a status' message is told: parts of it may be a client's own words.
constexpr std::size_t kMessageMax = 1024;
/// Of a message that waits to be read, beside its bytes: the queue may be twice as long as it need.
constexpr std::size_t kWaitingMessage = 2 * sizeof(std::string);
/// Of requests that wait to be read, and of answers that wait to leave: below it nobody has to
/// wait.
constexpr std::size_t kBacklogLow = 64 * 1024;

RpcStatus too_much() {
  return {Code::kResourceExhausted,
          "the waiting requests and answers of this client are too long together",
          {},
          1s};
}

/// The beginning of a text, without half a character at its end.
std::string_view beginning_of(std::string_view text) {
  if (text.size() <= kMessageMax) return text;
  std::size_t end = kMessageMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

/// What a client has sent of its own accord, without what HTTP/2 and gRPC want of every call.
HeaderBlock metadata_of(const HeaderBlock& headers) {
  HeaderBlock metadata;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const auto [name, value] = headers[i];
    const bool common = name.starts_with(':') || name.starts_with("grpc-") || name == "te" ||
                        name == "content-type" || name == "user-agent" || name == "accept-encoding";
    if (!common) metadata.add(name, value);
  }
  return metadata;
}

}  // namespace

ServerCall::ServerCall(ServerHost& host, const std::shared_ptr<ServerPeer>& peer, StreamId stream,
                       const HeaderBlock& headers)
    : host_(host),
      peer_(peer),
      stream_(stream),
      method_(headers.find(":path")),
      metadata_(metadata_of(headers)),
      remote_(peer->connection().remote()),
      connection_(peer->number()),
      pem_(peer->certificate()),
      account_(peer->account()),
      reader_(host.options.request_bytes_max) {
  if (const auto timeout = parse_timeout(headers.find("grpc-timeout"))) {
    by_ = host.loop.now() + *timeout;
  }
}

void ServerCall::begin(std::optional<RpcStatus> fault) {
  const auto self = shared_from_this();
  host_.calls.insert(this);
  if (!host_.on_call) return cut();
  if (host_.draining) return turn_away(stopping_status());
  const ServerOptions& options = host_.options;
  const auto peer = peer_.lock();
  const bool of_server = peer && peer->of_server();
  if (host_.placed >= options.calls_max + (of_server ? options.calls_of_servers : 0)) {
    if (options.call_refused) options.call_refused();
    // Another server may have room: clients go there on this code, and wait here on the other one.
    return turn_away(
        {Code::kUnavailable, "this server has as many open calls as it accepts", {}, 1s});
  }
  if (!keep(method_.size() + metadata_.bytes())) {
    if (options.call_refused) options.call_refused();
    return turn_away(too_much());
  }
  placed_ = true;
  ++host_.placed;
  if (options.admit && !options.admit(self)) return;
  if (fault) return finish(*std::move(fault));
  host_.on_call(self);
}

void ServerCall::refuse(RpcStatus status) {
  if (host_.options.call_refused) host_.options.call_refused();
  finish(std::move(status));
}

void ServerCall::turn_away(RpcStatus status) {
  if (over_ || finishing_) return;
  give_place_back();
  owe(kTurnedAwayBytes);
  finish(std::move(status));
}

void ServerCall::give_place_back() {
  if (std::exchange(placed_, false)) --host_.placed;
}

void ServerCall::owe(std::size_t bytes) {
  const auto peer = peer_.lock();
  if (!peer) return;
  kept_ += bytes;
  peer->owe(bytes);
}

bool ServerCall::keep(std::size_t bytes) {
  if (!account_->take(bytes)) return false;
  kept_ += bytes;
  return true;
}

void ServerCall::let_go(std::size_t bytes) {
  account_->give_back(bytes);
  kept_ -= bytes;
}

Session* ServerCall::session() {
  const auto peer = peer_.lock();
  return peer && peer->connection().open() ? &peer->connection().session() : nullptr;
}

void ServerCall::touch() {
  if (const auto peer = peer_.lock()) peer->connection().touch();
}

Duration ServerCall::time_left() const {
  return by_ ? *by_ - host_.loop.now() : kPatience;
}

bool ServerCall::forwarded() const {
  return !metadata_.find(kForwardedKey).empty();
}

std::string ServerCall::metadata(const std::string& key) const {
  const std::string_view value = metadata_.find(key);
  if (!key.ends_with("-bin")) return std::string(value);
  return base64_decode(value).value_or("");
}

std::string_view ServerCall::certificate() const {
  return pem_ ? std::string_view(*pem_) : std::string_view();
}

void ServerCall::read(std::function<void(std::optional<std::string>)> done) {
  if (over_ || finishing_) return;
  on_read_ = std::move(done);
  if (has_news()) host_.wants(shared_from_this());
}

void ServerCall::read_single(std::function<void(std::optional<std::string>)> done) {
  single_ = true;
  read(std::move(done));
}

bool ServerCall::has_news() const {
  return half_closed_ || messages_.size() > (single_ ? 1 : 0);
}

void ServerCall::received(std::string_view bytes) {
  Session* at = session();
  if (at == nullptr) return;
  std::vector<std::string> found;
  if (refused_ || finishing_) return at->consume(stream_, bytes.size());
  if (!keep(bytes.size())) return refuse_bytes(*at, bytes.size(), too_much());
  if (const Status fed = reader_.feed(bytes, found); !fed) {
    const bool too_long = fed.is(Errc::kThrottled);
    return refuse_bytes(
        *at, bytes.size(),
        {too_long ? Code::kResourceExhausted : Code::kUnimplemented, fed.error().message, {}});
  }
  // An empty message takes more here than its bytes on the way.
  if (!keep(found.size() * kWaitingMessage)) return refuse_bytes(*at, bytes.size(), too_much());
  held_ += bytes.size();
  if (const auto peer = found.empty() ? nullptr : peer_.lock()) {
    peer->connection().came(found.size());
  }
  for (std::string& message : found) messages_.push_back(std::move(message));
  // A slow reader lets its client wait, except for the rest of a message under way.
  if (messages_.empty() || held_ <= kBacklogLow) at->consume(stream_, std::exchange(held_, 0));
  if (has_news() && on_read_) host_.wants(shared_from_this());
}

void ServerCall::refuse_bytes(Session& at, std::size_t bytes, RpcStatus status) {
  refused_ = true;
  reader_ = MessageReader(0);
  at.consume(stream_, bytes + std::exchange(held_, 0));
  const bool too_many = status.code == Code::kResourceExhausted && status.retry_after > 0s;
  return too_many ? refuse(std::move(status)) : finish(std::move(status));
}

void ServerCall::half_closed() {
  half_closed_ = true;
  if (on_read_) host_.wants(shared_from_this());
}

void ServerCall::settle() {
  const auto self = shared_from_this();
  if (over_ || finishing_) return;
  if (written_ && on_written_) {
    written_ = false;
    const auto done = std::exchange(on_written_, {});
    done();
  }
  if (over_ || finishing_ || !reads_ || !on_read_ || !has_news()) return;
  if (single_ && messages_.size() > 1) {
    return finish({Code::kInternal, "the request has more than one message", {}});
  }
  std::optional<std::string> message;
  if (!messages_.empty()) {
    message = std::move(messages_.front());
    messages_.pop_front();
    let_go(kMessagePrefix + message->size() + kWaitingMessage);
    Session* at = session();
    if (messages_.empty() && at != nullptr) at->consume(stream_, std::exchange(held_, 0));
  } else if (!reader_.whole()) {
    return finish({Code::kInternal, "the request ends in the middle of a message", {}});
  }
  const auto done = std::exchange(on_read_, {});
  done(std::move(message));
  touch();
}

void ServerCall::respond() {
  Session* at = session();
  if (at == nullptr || std::exchange(responded_, true)) return;
  static constexpr std::array<Header, 3> kHead = {{{":status", "200"},
                                                   {"content-type", "application/grpc"},
                                                   {"grpc-accept-encoding", "identity"}}};
  at->respond(stream_, kHead);
}

void ServerCall::write(Payload message, std::function<void()> done) {
  Session* at = session();
  if (over_ || finishing_ || at == nullptr) return;
  on_written_ = std::move(done);
  respond();
  at->send(stream_, std::move(message));
  written_ = at->unsent(stream_) <= kBacklogLow;
  if (written_) host_.wants(shared_from_this());
  touch();
}

void ServerCall::drained() {
  if (!on_written_) return;
  written_ = true;
  host_.wants(shared_from_this());
}

void ServerCall::close(const RpcStatus& status) {
  Session* at = session();
  finishing_ = true;
  finishing_since_ = host_.loop.now();
  messages_.clear();
  if (at == nullptr) return;
  const std::string code = std::to_string(static_cast<int>(status.code));
  const std::string message = percent_encode(beginning_of(status.message));
  const std::string retry =
      std::to_string(std::chrono::ceil<std::chrono::seconds>(status.retry_after).count());
  std::vector<Header> trailers;
  if (!responded_) {
    trailers = {{":status", "200"},
                {"content-type", "application/grpc"},
                {"grpc-accept-encoding", "identity"}};
  }
  trailers.push_back({"grpc-status", code});
  if (!message.empty()) trailers.push_back({"grpc-message", message});
  if (!status.leader_address.empty()) trailers.push_back({kLeaderKey, status.leader_address});
  if (status.replaced) trailers.push_back({kReplacedKey, "1"});
  if (status.retry_after > 0s) trailers.push_back({kRetryKey, retry});
  // The client must know that a server has spoken, and not the network: UNAVAILABLE means
  // "nothing was changed" from the one and "it may have been" from the other.
  if (!status.ok()) trailers.push_back({kServerKey, host_.options.id});
  std::size_t bytes = 0;
  for (const Header& each : trailers) bytes += each.name.size() + each.value.size();
  at->finish(stream_, trailers);
  owe(bytes);
  touch();
}

void ServerCall::finish(RpcStatus status) {
  if (over_ || finishing_) return;
  close(status);
  tell_ended(status);
}

void ServerCall::reply(Payload message) {
  if (over_ || finishing_) return;
  if (!keep(message->size())) return refuse(too_much());
  respond();
  if (Session* at = session()) at->send(stream_, std::move(message));
  close({});
  tell_ended({});
}

void ServerCall::cut() {
  Session* at = session();
  if (over_ || at == nullptr) return;
  const auto self = shared_from_this();
  at->reset(stream_, NGHTTP2_CANCEL);
  touch();
  // Not when the client has heard of it: one that takes nothing would keep it.
  if (const auto peer = peer_.lock()) peer->forget(stream_);
  end();
}

void ServerCall::end() {
  if (std::exchange(over_, true)) return;
  const auto self = shared_from_this();
  host_.calls.erase(this);
  give_place_back();
  on_read_ = {};
  on_written_ = {};
  messages_.clear();
  let_go(kept_);
  tell_ended({Code::kCancelled, "the client disconnected", {}});
  tell_gone();
  if (const auto over = std::exchange(on_over_, {})) over();
}

void ServerCall::abandon() {
  on_over_ = {};
  on_read_ = {};
  on_written_ = {};
}

}  // namespace muster::rpc
