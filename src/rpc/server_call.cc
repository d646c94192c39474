#include "rpc/server_call.h"

#include <nghttp2/nghttp2.h>
#include <openssl/pem.h>

#include <utility>

#include "rpc/wire.h"

namespace muster::rpc {
namespace {

/// For clients that name no deadline.
constexpr Duration kPatience = 30s;
/// Of requests that wait to be read, and of answers that wait to leave: below it nobody has to
/// wait.
constexpr std::size_t kBacklogLow = 64 * 1024;
/// A call is given up so long after its client has, whatever became of the client's word about it.
constexpr Duration kAfterDeadline = 5s;

RpcStatus too_much() {
  return {Code::kResourceExhausted,
          "requests and answers of this client wait here, and they are too long together",
          {},
          1s};
}

std::shared_ptr<const std::string> certificate_of(SSL* ssl) {
  const std::unique_ptr<X509, decltype(&X509_free)> shown(SSL_get1_peer_certificate(ssl),
                                                          X509_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  if (!shown || !out || PEM_write_bio_X509(out.get(), shown.get()) != 1) return nullptr;
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::make_shared<const std::string>(data, static_cast<std::size_t>(size));
}

/// Why a call with such headers is refused; none when it is not.
std::optional<RpcStatus> fault_of(const HeaderBlock& headers) {
  const std::string_view encoding = headers.find("grpc-encoding");
  if (!encoding.empty() && encoding != "identity") {
    return RpcStatus{Code::kUnimplemented,
                     "messages in " + std::string(encoding) + " are not taken; send identity",
                     {}};
  }
  const std::string_view timeout = headers.find("grpc-timeout");
  if (!timeout.empty() && !parse_timeout(timeout)) {
    return RpcStatus{Code::kInternal, "grpc-timeout is not one", {}};
  }
  return std::nullopt;
}

}  // namespace

void ServerHost::wants(std::shared_ptr<ServerCall> call) {
  if (std::exchange(call->wanted_, true)) return;
  ready.push_back(std::move(call));
  if (std::exchange(scheduled, true)) return;
  loop.post(lifetime.wrap([this] {
    scheduled = false;
    settle();
  }));
}

void ServerHost::settle() {
  // One that wants something again waits for the next round, so that nobody starves.
  while (!ready.empty()) {
    for (const auto& call : std::exchange(ready, {})) {
      call->wanted_ = false;
      call->settle();
    }
  }
}

void ServerPeer::begin(UniqueFd fd, SslPtr ssl, std::function<void()> ready,
                       std::function<void(const Error&)> ended) {
  begun_at_ = host_.loop.now();
  connection_ = std::make_shared<Connection>(
      host_.loop, host_.turn, std::move(fd), std::move(ssl), Session::Side::kServer,
      host_.options.connection, *this,
      Connection::Hooks{.shaken =
                            [this](SSL* shown) {
                              pem_ = certificate_of(shown);
                              return host_.options.shaken ? host_.options.shaken(shown)
                                                          : Status(Done{});
                            },
                        .ready = std::move(ready),
                        .received = [this] { host_.settle(); },
                        .ended = std::move(ended)});
  connection_->begin();
}

void ServerPeer::leave() {
  if (std::exchange(leaving_, true)) return;
  connection_->session().go_away();
  connection_->touch();
}

void ServerPeer::wind_down() {
  if (std::exchange(winding_down_, true)) return;
  connection_->session().wind_down();
  connection_->touch();
}

void ServerPeer::lost() {
  const auto self = shared_from_this();
  for (const auto& [stream, call] : std::exchange(calls_, {})) call->end();
}

void ServerPeer::look(MonoTime now) {
  const auto self = shared_from_this();
  connection_->look();
  const Duration age_max = host_.options.connection_age_max;
  if (connection_->open() && age_max > 0s && now - begun_at_ >= age_max) wind_down();
  // Some clients that have nothing open neither answer nor close.
  if (winding_down_ && now - begun_at_ >= age_max + host_.options.connection.answer_within) leave();
  std::vector<std::shared_ptr<ServerCall>> late;
  for (const auto& [stream, call] : calls_) {
    const bool untaken =
        call->finishing() && now - call->finishing_since() >= host_.options.taken_within;
    const bool expired = call->deadline() && now - *call->deadline() >= kAfterDeadline;
    if (untaken || expired) late.push_back(call);
  }
  for (const auto& call : late) call->cut();
}

std::shared_ptr<ServerCall> ServerPeer::find(StreamId stream) const {
  const auto found = calls_.find(stream);
  return found == calls_.end() ? nullptr : found->second;
}

void ServerPeer::on_headers(StreamId stream, const HeaderBlock& headers, bool end) {
  Session& session = connection_->session();
  if (headers.find(":method") != "POST" || !is_grpc(headers.find("content-type"))) {
    const bool post = headers.find(":method") == "POST";
    const std::array<Header, 1> refusal = {{{":status", post ? "415" : "405"}}};
    return session.finish(stream, refusal);
  }
  if (!account_) {
    const std::string& remote = connection_->remote();
    const std::string_view shown = pem_ ? std::string_view(*pem_) : std::string_view();
    account_ =
        host_.bytes.account(host_.options.client ? host_.options.client(shown, remote) : remote);
  }
  std::optional<RpcStatus> refused = fault_of(headers);
  if (!refused && host_.calls.size() >= host_.options.calls_max) {
    refused = RpcStatus{
        Code::kResourceExhausted, "this server has as many calls open as it takes", {}, 1s};
  }
  auto call = std::make_shared<ServerCall>(host_, shared_from_this(), stream, headers);
  calls_.emplace(stream, call);
  if (end) call->half_closed();
  call->begin(std::move(refused));
}

void ServerPeer::on_data(StreamId stream, std::string_view bytes) {
  if (const auto call = find(stream)) return call->received(bytes);
  connection_->session().consume(stream, bytes.size());
}

void ServerPeer::on_end(StreamId stream) {
  if (const auto call = find(stream)) call->half_closed();
}

void ServerPeer::on_drained(StreamId stream) {
  if (const auto call = find(stream)) call->drained();
}

void ServerPeer::on_closed(StreamId stream, std::uint32_t) {
  const auto call = find(stream);
  if (!call) return;
  calls_.erase(stream);
  call->end();
}

ServerCall::ServerCall(ServerHost& host, const std::shared_ptr<ServerPeer>& peer, StreamId stream,
                       const HeaderBlock& headers)
    : host_(host),
      peer_(peer),
      stream_(stream),
      method_(headers.find(":path")),
      headers_(headers),
      remote_(peer->connection().remote()),
      connection_(peer->number()),
      pem_(peer->certificate()),
      account_(peer->account()),
      reader_(host.options.request_bytes_max) {
  if (const auto timeout = parse_timeout(headers.find("grpc-timeout"))) {
    by_ = host.loop.now() + *timeout;
  }
}

void ServerCall::begin(std::optional<RpcStatus> refused) {
  host_.calls.insert(this);
  if (refused && refused->code == Code::kResourceExhausted) return refuse(*std::move(refused));
  if (refused) return finish(*std::move(refused));
  if (!host_.on_call) return cut();
  host_.on_call(shared_from_this());
}

void ServerCall::refuse(RpcStatus status) {
  if (host_.options.call_refused) host_.options.call_refused();
  finish(std::move(status));
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
  return !headers_.find(kForwardedKey).empty();
}

std::string ServerCall::metadata(const std::string& key) const {
  const std::string_view value = headers_.find(key);
  if (!key.ends_with("-bin")) return std::string(value);
  return base64_decode(value).value_or("");
}

std::string_view ServerCall::certificate() const {
  return pem_ ? std::string_view(*pem_) : std::string_view();
}

void ServerCall::read(std::function<void(std::optional<std::string>)> done) {
  if (over_ || finishing_) return;
  on_read_ = std::move(done);
  if (!messages_.empty() || half_closed_) host_.wants(shared_from_this());
}

void ServerCall::received(std::string_view bytes) {
  Session* at = session();
  if (at == nullptr) return;
  std::vector<std::string> found;
  if (refused_ || finishing_) return at->consume(stream_, bytes.size());
  if (!keep(bytes.size())) {
    refused_ = true;
    reader_ = MessageReader(0);
    at->consume(stream_, bytes.size() + std::exchange(held_, 0));
    return refuse(too_much());
  }
  if (const Status fed = reader_.feed(bytes, found); !fed) {
    refused_ = true;
    at->consume(stream_, bytes.size() + std::exchange(held_, 0));
    const bool too_long = fed.is(Errc::kThrottled);
    return finish(
        {too_long ? Code::kResourceExhausted : Code::kUnimplemented, fed.error().message, {}});
  }
  held_ += bytes.size();
  for (std::string& message : found) messages_.push_back(std::move(message));
  // Whoever is slow to read lets its client wait, except for the rest of a message under way.
  if (messages_.empty() || held_ <= kBacklogLow) at->consume(stream_, std::exchange(held_, 0));
  if (!messages_.empty() && on_read_) host_.wants(shared_from_this());
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
  if (over_ || finishing_ || !on_read_ || (messages_.empty() && !half_closed_)) return;
  std::optional<std::string> message;
  if (!messages_.empty()) {
    message = std::move(messages_.front());
    messages_.pop_front();
    let_go(kMessagePrefix + message->size());
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
  const std::string message = percent_encode(status.message);
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
  // Whoever sent this must know that a server has spoken, and not the network: UNAVAILABLE means
  // "nothing was changed" from the one and "it may have been" from the other.
  if (!status.ok()) trailers.push_back({kServerKey, host_.options.id});
  at->finish(stream_, trailers);
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
  at->reset(stream_, NGHTTP2_CANCEL);
  touch();
}

void ServerCall::end() {
  if (std::exchange(over_, true)) return;
  const auto self = shared_from_this();
  host_.calls.erase(this);
  on_read_ = {};
  on_written_ = {};
  messages_.clear();
  let_go(kept_);
  tell_ended({Code::kCancelled, "the client went away", {}});
  tell_gone();
  if (const auto over = std::exchange(on_over_, {})) over();
}

void ServerCall::abandon() {
  on_over_ = {};
  on_read_ = {};
  on_written_ = {};
}

}  // namespace muster::rpc
