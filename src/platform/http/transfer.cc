#include "platform/http/transfer.h"

namespace muster::http {

Status Transfer::prepare(const Environment& environment) {
  auto route = route_of(request_, environment);
  if (!route) return route.error();
  auto bytes = request_bytes(request_, *route);
  if (!bytes) return bytes.error();
  route_ = std::move(*route);
  bytes_ = std::move(*bytes);
  request_.body = {};
  return Done{};
}

void Transfer::run_on(std::shared_ptr<ClientConnection> connection, bool reused) {
  connection_ = std::move(connection);
  reused_ = reused;
  reader_.emplace(
      request_.method == "HEAD" ? AnswerReader::Question::kHead : AnswerReader::Question::kOther,
      request_.answer_bytes_max);
  if (reused) {
    connection_->use_for(*this);
  } else {
    connection_->open_for(*this);
  }
}

bool Transfer::may_go_again() const {
  return reused_ && !request_.once && !reader_->begun();
}

Result<HttpResponse> Transfer::result() {
  switch (reader_->state()) {
    case AnswerReader::State::kDone:
      return reader_->take();
    case AnswerReader::State::kTooLarge:
      return {Errc::kCorrupt, "the answer of " + host() + " is larger than " +
                                  std::to_string(request_.answer_bytes_max) +
                                  " bytes, or its head than " +
                                  std::to_string(kAnswerHeadBytesMax)};
    default:
      return failure({reader_->problem()});
  }
}

Error Transfer::failure(const pki::TlsFailure& why) const {
  if (request_.tell_refusals && why.refusal) return {Errc::kDenied, host() + ": " + why.text};
  if (sent_) return {Errc::kAmbiguous, "no complete answer from " + host() + ": " + why.text};
  return {Errc::kUnavailable, "cannot reach " + host() + ": " + why.text};
}

Error Transfer::expired() const {
  if (sent_) return {Errc::kAmbiguous, "no answer from " + host() + " before the deadline"};
  return {Errc::kUnavailable, "not sent to " + host() + " before the deadline"};
}

std::string Transfer::host() const {
  if (!route_.url.authority.empty()) return route_.url.authority;
  // What is no address may hold anything.
  const auto url = parse_url(request_.url);
  return url ? url->authority : "the host";
}

}  // namespace muster::http
