#include "client/campaign_wire.h"

#include <algorithm>

#include "core/election/lease.h"
#include "muster/v1/election.pb.h"

namespace muster::client {
namespace {

using NewsKind = CampaignNews::Kind;

/// No lease is longer.
Duration left_of(std::uint64_t ms) {
  const auto most = static_cast<std::uint64_t>(kLeaseMax.count());
  return std::chrono::milliseconds(std::min(ms, most));
}

}  // namespace

std::string encode_hello(const CampaignConfig& config, const std::string& session,
                         const CampaignMachine::Hello& hello) {
  v1::CampaignRequest message;
  v1::CampaignHello& out = *message.mutable_hello();
  out.set_name(config.name);
  out.set_id(config.id.value());
  out.set_session(session);
  out.set_value(config.value);
  out.set_lease_ms(static_cast<std::uint32_t>(to_ms(config.lease)));
  out.set_prefix(config.prefix);
  out.set_paused(hello.paused);
  if (hello.resumed) out.set_resume_epoch(hello.resumed->value());
  return message.SerializeAsString();
}

std::string encode_campaign_beat(std::uint64_t number) {
  v1::CampaignRequest message;
  message.mutable_beat()->set_number(number);
  return message.SerializeAsString();
}

std::string encode_resign(const CampaignMachine::Resign& resign) {
  v1::CampaignRequest message;
  message.mutable_resign()->set_prefer(resign.prefer);
  message.mutable_resign()->set_stay(resign.stay);
  return message.SerializeAsString();
}

Result<CampaignNews> decode_campaign_news(const std::string& body) {
  v1::CampaignResponse message;
  CampaignNews news{};
  if (message.ParseFromString(body)) {
    switch (message.kind_case()) {
      case v1::CampaignResponse::kWaiting:
        news.kind = NewsKind::kWaiting;
        news.leader = message.waiting().leader();
        news.value = message.waiting().value();
        news.epoch = Epoch(message.waiting().epoch());
        news.paused = message.waiting().paused();
        news.beat = message.waiting().beat();
        return news;
      case v1::CampaignResponse::kGranted:
        news.kind = NewsKind::kGranted;
        news.epoch = Epoch(message.granted().epoch());
        news.left = left_of(message.granted().left_ms());
        news.beat = message.granted().beat();
        return news;
      case v1::CampaignResponse::kRenewed:
        news.kind = NewsKind::kRenewed;
        news.epoch = Epoch(message.renewed().epoch());
        news.left = left_of(message.renewed().left_ms());
        news.beat = message.renewed().beat();
        return news;
      case v1::CampaignResponse::kGiveUp:
        news.kind = NewsKind::kGiveUp;
        news.reason = message.give_up().reason();
        news.prefer = message.give_up().prefer();
        news.paused = message.give_up().paused();
        return news;
      case v1::CampaignResponse::kLost:
        news.kind = NewsKind::kLost;
        news.reason = message.lost().reason();
        news.epoch = Epoch(message.lost().epoch());
        return news;
      case v1::CampaignResponse::kResigned:
        news.kind = NewsKind::kResigned;
        news.confirmed = message.resigned().confirmed();
        return news;
      case v1::CampaignResponse::kTrouble:
        news.kind = NewsKind::kTrouble;
        news.reason = message.trouble().reason();
        return news;
      case v1::CampaignResponse::KIND_NOT_SET:
        break;
    }
  }
  return {Errc::kCorrupt,
          "the server's answer to a campaign cannot be decoded; check that the "
          "server is a musterd of this version or a later one"};
}

}  // namespace muster::client
