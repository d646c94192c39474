#include "server/rpc/peer_client.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "core/net/address.h"

namespace muster::rpc {
namespace {

/// A leader that hangs is found within these.
constexpr Duration kAskAfter = 10s;
constexpr Duration kAnswerWithin = 5s;
/// And one that comes back, within this.
constexpr Duration kBackoffMax = 1s;

RpcStatus status_of(const Outcome& outcome) {
  if (outcome.word == Outcome::Word::kNeverLeft) {
    return {Code::kUnavailable, "the leader is unreachable: " + outcome.message, {}};
  }
  // Something between the servers may speak in the other one's place, and only the other one knows
  // that it has changed nothing.
  if (outcome.word == Outcome::Word::kNobody || outcome.trailers.find(kServerKey).empty()) {
    return {Code::kUnknown, "the leader did not answer: " + outcome.message, {}};
  }
  RpcStatus status{outcome.code, outcome.message, std::string(outcome.trailers.find(kLeaderKey))};
  if (const auto seconds = parse_unsigned(outcome.trailers.find(kRetryKey))) {
    status.retry_after = std::chrono::seconds(std::min<std::uint64_t>(*seconds, 3600));
  }
  status.replaced = !outcome.trailers.find(kReplacedKey).empty();
  return status;
}

}  // namespace

struct PeerClient::Asked {
  explicit Asked(Done d) : done(std::move(d)) {}
  Done done;
  std::string answer;
  std::unique_ptr<ClientCall> call;
};

PeerClient::PeerClient(EventLoop& loop, SendTurn& turn, Options options, Random random)
    : loop_(loop), turn_(turn), options_(std::move(options)), random_(random) {}

void PeerClient::call(const std::string& address, const std::string& method, std::string request,
                      Duration timeout, Done done, Metadata metadata) {
  if (closed_) return;
  auto& channel = channels_[address];
  if (!channel) {
    const auto to = Address::parse(address);
    if (!to) {
      channels_.erase(address);
      return loop_.post(lifetime_.wrap([done = std::move(done), why = to.error().message] {
        done({Code::kUnavailable, "the leader is unreachable: " + why, {}}, {});
      }));
    }
    ChannelOptions options{.host = to->host, .port = to->port, .authority = address};
    if (options_.tls) {
      options.tls = [make = options_.tls, host = to->host] { return make(host); };
      options.shaken = options_.shaken;
    }
    options.connection.ask_after = kAskAfter;
    options.connection.answer_within = kAnswerWithin;
    options.backoff_max = kBackoffMax;
    channel = std::make_unique<Channel>(loop_, turn_, std::move(options), Random(random_.next()));
  }
  metadata.emplace_back(kForwardedKey, options_.server_id);
  const std::uint64_t number = ++last_number_;
  const auto asked = std::make_shared<Asked>(std::move(done));
  asked_.emplace(number, asked);
  asked->call = channel->start(
      method, loop_.now() + timeout, std::move(metadata),
      {[asked = asked.get()](std::string message) { asked->answer = std::move(message); },
       [this, number](const Outcome& outcome) { answered(number, outcome); }});
  asked->call->send(payload(std::move(request)));
  asked->call->finish();
}

void PeerClient::answered(std::uint64_t number, const Outcome& outcome) {
  const auto found = asked_.find(number);
  const std::shared_ptr<Asked> asked = std::move(found->second);
  asked_.erase(found);
  if (outcome.ok()) return asked->done({}, std::move(asked->answer));
  asked->done(status_of(outcome), {});
}

void PeerClient::forget() {
  for (const auto& [address, channel] : channels_) channel->renew();
}

void PeerClient::close() {
  closed_ = true;
  lifetime_.renew();
  asked_.clear();
  channels_.clear();
}

}  // namespace muster::rpc
