// The connections of a server's clients, and whose turn it is among their calls.
#include <utility>

#include "base/text.h"
#include "rpc/server_call.h"
#include "rpc/wire.h"

namespace muster::rpc {
namespace {

/// A call is given up so long after its client has, whatever became of the client's word about it.
constexpr Duration kAfterDeadline = 5s;

std::shared_ptr<const std::string> certificate_of(const SSL& ssl) {
  std::string shown = pki::shown_certificate(ssl);
  return shown.empty() ? nullptr : std::make_shared<const std::string>(std::move(shown));
}

/// What a request costs here that is refused before it is a call, until its client has taken that.
constexpr std::size_t kRefusalBytes = 2048;
/// The same of a frame that waits to leave.
constexpr std::size_t kFrameBytes = 256;

/// Whether it is base64, with padding or without; several values may be joined by commas.
bool is_binary(std::string_view value) {
  for (const std::string_view part : split(value, ',')) {
    if (!base64_decode(trim(part))) return false;
  }
  return true;
}

/// A client's own word, which may be long.
std::string name_of(const Header& header) {
  return std::string(header.name.substr(0, 64));
}

/// Why a call with such headers is refused; none when it is not.
std::optional<RpcStatus> fault_of(const HeaderBlock& headers) {
  const std::string_view encoding = headers.find("grpc-encoding");
  if (!encoding.empty() && encoding != "identity") {
    return RpcStatus{
        Code::kUnimplemented, "compressed messages are not accepted; send identity", {}};
  }
  if (headers.has("grpc-timeout") && !parse_timeout(headers.find("grpc-timeout"))) {
    return RpcStatus{Code::kInternal, "grpc-timeout is not one", {}};
  }
  for (std::size_t i = 0; i < headers.size(); ++i) {
    if (headers[i].name.ends_with("-bin") && !is_binary(headers[i].value)) {
      return RpcStatus{
          Code::kInternal, "the metadata " + name_of(headers[i]) + " is not base64", {}};
    }
  }
  return std::nullopt;
}

}  // namespace

RpcStatus stopping_status() {
  return {Code::kUnavailable, "this server is stopping", {}};
}

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

void ServerPeer::begin(UniqueFd fd, SslPtr ssl, std::function<void()> spoke,
                       std::function<void()> ready, std::function<void(const Error&)> ended) {
  begun_at_ = host_.loop.now();
  const bool secure = ssl != nullptr;
  connection_ = std::make_shared<Connection>(
      host_.loop, host_.turn, std::move(fd), std::move(ssl), Session::Side::kServer,
      host_.options.connection, *this,
      Connection::Hooks{.shaken =
                            [this](SSL* shown) {
                              pem_ = certificate_of(*shown);
                              if (host_.options.shaken) {
                                if (Status let_in = host_.options.shaken(shown); !let_in)
                                  return let_in;
                              }
                              count();
                              return Status(Done{});
                            },
                        .spoke = std::move(spoke),
                        .ready = std::move(ready),
                        .received =
                            [this] {
                              host_.settle();
                              weigh();
                            },
                        .ended = std::move(ended)});
  connection_->begin();
  if (!secure) count();
}

Client ServerPeer::client() const {
  const std::string& remote = connection_->remote();
  const std::string_view shown = pem_ ? std::string_view(*pem_) : std::string_view();
  return host_.options.client ? host_.options.client(shown, remote) : Client{.name = remote};
}

void ServerPeer::count() {
  Client client = this->client();
  switch (host_.connections.take(client.name, client.reserved)) {
    case ConnectionBudget::Verdict::kTaken:
      counted_ = std::move(client);
      return;
    case ConnectionBudget::Verdict::kClientFull:
      return connection_->session().give_up_on(
          Breach::kConnections, "this client has as many connections open as one client may");
    case ConnectionBudget::Verdict::kFull:
      return connection_->session().give_up_on(
          Breach::kConnections, "the clients have as many connections open as the server accepts");
  }
}

void ServerPeer::leave() {
  if (std::exchange(leaving_, true)) return;
  connection_->session().go_away();
  connection_->touch();
}

void ServerPeer::wind_down() {
  if (winding_down_) return;
  winding_down_ = host_.loop.now();
  connection_->session().wind_down();
  connection_->touch();
}

void ServerPeer::lost() {
  const auto self = shared_from_this();
  for (const auto& [stream, call] : std::exchange(calls_, {})) call->end();
  if (counted_) host_.connections.give_back(counted_->name, counted_->reserved);
  counted_.reset();
  if (!account_) return;
  account_->give_back(std::exchange(refused_, {}).size() * kRefusalBytes);
  account_->give_back(std::exchange(weight_, 0));
}

void ServerPeer::find_account() {
  if (account_) return;
  const Client client = this->client();
  whose_ = client.whose;
  account_ = host_.bytes.account(client.name, whose_);
}

void ServerPeer::owe(std::size_t bytes) {
  if (account_->owe(bytes)) return;
  connection_->session().give_up_on(
      Breach::kUntaken, "the client sends more and more requests and does not take the answers");
  connection_->touch();
}

// A call counts until it is over. What then still waits in the session counts here.
void ServerPeer::weigh() {
  if (!connection_->open() || (weight_ == 0 && connection_->untaken() == 0)) return;
  find_account();
  const std::size_t waiting = connection_->untaken();
  account_->give_back(std::exchange(weight_, 0));
  if (waiting == 0) return;
  weight_ = waiting + kFrameBytes * connection_->session().waiting();
  owe(weight_);
}

void ServerPeer::look(MonoTime now) {
  const auto self = shared_from_this();
  connection_->look();
  weigh();
  const Duration age_max = host_.options.connection_age_max;
  if (connection_->open() && age_max > 0s && now - begun_at_ >= age_max) wind_down();
  // Some clients that have nothing open neither answer nor close.
  if (winding_down_ && now - *winding_down_ >= host_.options.connection.answer_within) leave();
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
  // What came behind it is not looked at.
  if (session.breach() != Breach::kNone) return;
  find_account();
  if (headers.find(":method") != "POST" || !is_grpc(headers.find("content-type"))) {
    const bool post = headers.find(":method") == "POST";
    const std::array<Header, 1> refusal = {{{":status", post ? "415" : "405"}}};
    refused_.insert(stream);
    owe(kRefusalBytes);
    return session.finish(stream, refusal);
  }
  auto call = std::make_shared<ServerCall>(host_, shared_from_this(), stream, headers);
  calls_.emplace(stream, call);
  if (end) call->half_closed();
  call->begin(fault_of(headers));
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
  if (refused_.erase(stream) > 0) account_->give_back(kRefusalBytes);
  const auto call = find(stream);
  if (!call) return;
  calls_.erase(stream);
  call->end();
}

}  // namespace muster::rpc
