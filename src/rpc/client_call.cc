#include "rpc/client_call.h"

#include <nghttp2/nghttp2.h>

#include <utility>

#include "base/text.h"
#include "rpc/wire.h"

namespace muster::rpc {
namespace {

Outcome by_trailers(const HeaderBlock& trailers) {
  return {parse_code(trailers.find("grpc-status")),
          percent_decode(trailers.find("grpc-message")),
          Outcome::Word::kServer,
          trailers,
          {}};
}

/// An answer of a server that does not speak gRPC, such as a proxy.
Outcome by_http(const HeaderBlock& headers) {
  const std::string status(headers.find(":status"));
  const auto number = static_cast<int>(parse_unsigned(status).value_or(0));
  const std::string text = "the answer is plain HTTP (status " + status + "), not gRPC";
  // A request that was refused as such went nowhere; a gateway in trouble may have passed it on.
  const bool refused = number >= 400 && number < 500;
  return {code_of_http(number),
          text,
          refused ? Outcome::Word::kServer : Outcome::Word::kNobody,
          {},
          {Trouble::Kind::kNotGrpc, text}};
}

}  // namespace

void CallState::end(Outcome outcome) {
  if (std::exchange(ended, true)) return;
  const auto self = shared_from_this();
  deadline.cancel();
  link = nullptr;
  given.clear();
  const ClientCallEvents last = std::exchange(events, {});
  if (last.end) last.end(outcome);
}

void CallState::end_soon(Outcome outcome) {
  loop.post([self = shared_from_this(), outcome = std::move(outcome)] { self->end(outcome); });
}

ClientLink::~ClientLink() {
  if (connection_) connection_->close();
}

void ClientLink::begin(std::shared_ptr<Connection> connection, Hooks hooks) {
  hooks_ = std::move(hooks);
  connection_ = std::move(connection);
  connection_->begin();
}

void ClientLink::set_ready() {
  ready_ = was_ready_ = true;
  hooks_.ready();
}

void ClientLink::lost(const Error& why) {
  const auto self = shared_from_this();
  ready_ = false;
  leaving_ = true;
  const Outcome outcome{
      Code::kUnavailable, "the connection was lost: " + why.message, Outcome::Word::kNobody, {}};
  for (const auto& [stream, call] : std::exchange(calls_, {})) {
    call->link = nullptr;
    call->end_soon(outcome);
  }
  hooks_.ended(why);
}

void ClientLink::open(const CallStatePtr& call, MonoTime now) {
  std::vector<Header> headers = {{":method", "POST"},
                                 {":scheme", scheme_},
                                 {":path", call->method},
                                 {":authority", authority_},
                                 {"te", "trailers"},
                                 {"content-type", "application/grpc"},
                                 {"grpc-accept-encoding", "identity"},
                                 {"user-agent", "muster"}};
  std::string timeout;
  if (call->by) {
    timeout = format_timeout(*call->by - now);
    headers.push_back({"grpc-timeout", timeout});
  }
  std::vector<std::string> encoded;
  encoded.reserve(call->metadata.size());
  for (const auto& [name, value] : call->metadata) {
    encoded.push_back(name.ends_with("-bin") ? base64_encode(value) : value);
    headers.push_back({name, encoded.back()});
  }
  Session& session = connection_->session();
  const Result<StreamId> stream = session.open(headers);
  if (!stream) {
    return call->end_soon(
        {Code::kUnavailable, stream.error().message, Outcome::Word::kNeverLeft, {}});
  }
  used_ = true;
  call->left = true;
  call->link = this;
  call->stream = *stream;
  calls_.emplace(*stream, call);
  for (const Payload& message : call->given) session.send(*stream, message);
  if (call->finished) session.finish(*stream);
  connection_->touch();
}

void ClientLink::send(const CallState& call, Payload message) {
  connection_->session().send(call.stream, std::move(message));
  connection_->touch();
}

void ClientLink::finish(const CallState& call) {
  connection_->session().finish(call.stream);
  connection_->touch();
}

void ClientLink::forget(const CallState& call) {
  if (calls_.erase(call.stream) == 0) return;
  connection_->session().reset(call.stream, NGHTTP2_CANCEL);
  connection_->touch();
}

CallStatePtr ClientLink::find(StreamId stream) const {
  const auto found = calls_.find(stream);
  return found == calls_.end() ? nullptr : found->second;
}

void ClientLink::drop(const CallStatePtr& call, std::uint32_t error, Outcome outcome) {
  calls_.erase(call->stream);
  connection_->session().reset(call->stream, error);
  connection_->touch();
  call->end(std::move(outcome));
}

void ClientLink::on_headers(StreamId stream, const HeaderBlock& headers, bool end) {
  const CallStatePtr call = find(stream);
  if (!call) return;
  call->looked_at = true;
  call->given.clear();
  if (end && !headers.find("grpc-status").empty()) {
    call->told = by_trailers(headers);
  } else if (headers.find(":status") != "200" || !is_grpc(headers.find("content-type"))) {
    drop(call, NGHTTP2_CANCEL, by_http(headers));
  }
}

void ClientLink::on_data(StreamId stream, std::string_view bytes) {
  const auto self = shared_from_this();
  const CallStatePtr call = find(stream);
  if (!call) return;
  std::vector<std::string> messages;
  if (const Status fed = call->reader.feed(bytes, messages); !fed) {
    return drop(call, NGHTTP2_CANCEL,
                {fed.is(Errc::kThrottled) ? Code::kResourceExhausted : Code::kInternal,
                 "of the answer, " + fed.error().message,
                 Outcome::Word::kNobody,
                 {}});
  }
  // A waiting reader processes it at once.
  connection_->session().consume(stream, bytes.size());
  for (std::string& message : messages) {
    if (call->ended || !call->events.message) return;
    // It may give the call up from within, and with it this function.
    const auto tell = call->events.message;
    tell(std::move(message));
  }
}

void ClientLink::on_trailers(StreamId stream, const HeaderBlock& trailers) {
  if (const CallStatePtr call = find(stream)) call->told = by_trailers(trailers);
}

void ClientLink::on_end(StreamId stream) {
  const CallStatePtr call = find(stream);
  if (!call || !call->told) return;
  // The server has said its last word, whatever we have not sent yet.
  calls_.erase(stream);
  if (!call->finished) {
    connection_->session().reset(stream, NGHTTP2_NO_ERROR);
    connection_->touch();
  }
  Outcome outcome = *std::move(call->told);
  if (outcome.ok() && !call->reader.whole()) {
    outcome = {
        Code::kInternal, "the answer ends in the middle of a message", Outcome::Word::kNobody, {}};
  }
  call->end(std::move(outcome));
}

void ClientLink::on_drained(StreamId stream) {
  const CallStatePtr call = find(stream);
  if (!call || !call->events.sent) return;
  const auto tell = call->events.sent;
  tell();
}

void ClientLink::on_closed(StreamId stream, std::uint32_t error) {
  const auto self = shared_from_this();
  if (const CallStatePtr call = find(stream)) {
    calls_.erase(stream);
    if (call->told) {
      call->end(*std::move(call->told));
    } else if (error == NGHTTP2_REFUSED_STREAM && !call->looked_at) {
      call->link = nullptr;
      hooks_.unseen(call);
    } else {
      call->end({error == 0 ? Code::kInternal : code_of_reset(error),
                 error == 0 ? "the answer ended without a status"
                            : std::string("the server cancelled the call: ") +
                                  nghttp2_http2_strerror(error),
                 Outcome::Word::kNobody,
                 {}});
    }
  }
  hooks_.room();
}

void ClientLink::on_goaway(StreamId last, std::uint32_t) {
  const auto self = shared_from_this();
  leaving_ = gone_away_ = true;
  std::vector<CallStatePtr> unseen;
  for (auto it = calls_.upper_bound(last); it != calls_.end(); it = calls_.erase(it)) {
    unseen.push_back(it->second);
  }
  for (const CallStatePtr& call : unseen) {
    call->link = nullptr;
    hooks_.unseen(call);
  }
  hooks_.room();
}

}  // namespace muster::rpc
