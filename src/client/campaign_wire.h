#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "core/client/campaign_machine.h"

/// Conversions between the messages of ElectionService and a campaign's types.
namespace muster::client {

[[nodiscard]] std::string encode_hello(const CampaignConfig& config, const std::string& session,
                                       const CampaignMachine::Hello& hello);
[[nodiscard]] std::string encode_campaign_beat(std::uint64_t number);
[[nodiscard]] std::string encode_resign(const CampaignMachine::Resign& resign);
/// kCorrupt if the bytes are not a message of a campaign.
[[nodiscard]] Result<CampaignNews> decode_campaign_news(const std::string& body);

}  // namespace muster::client
