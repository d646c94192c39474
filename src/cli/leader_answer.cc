#include "cli/leader_answer.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace muster::cli {
namespace {

using Json = nlohmann::ordered_json;

Json ms_or_null(const std::optional<Duration>& d) {
  return d ? Json(to_ms(*d)) : Json(nullptr);
}

Duration in_ms(Duration d) {
  return std::chrono::milliseconds(to_ms(d));
}

}  // namespace

LeaderAnswer judge(const LeaderState& state, std::optional<Duration> age) {
  LeaderAnswer answer;
  answer.epoch = state.epoch;
  answer.age = age;
  answer.confirmed = true;
  if (!state.leader) return answer;  // It was released, and says so.
  if (!age || state.lease <= Duration(0)) {
    answer.leader = state.leader;
    answer.confirmed = false;
    return answer;
  }
  answer.leader = state.leader;
  answer.looks_expired = *age >= state.lease;
  if (answer.looks_expired) {
    answer.confirmed = false;
    return answer;
  }
  answer.lease_left = state.lease - *age;
  return answer;
}

LeaderAnswer nobody_yet() {
  LeaderAnswer answer;
  answer.confirmed = true;
  return answer;
}

std::string LeaderAnswer::to_json(const std::string& election) const {
  const Json json = {
      {"name", election},         {"leader", leader ? Json(leader->value()) : Json(nullptr)},
      {"epoch", epoch.value()},   {"leaseLeftMs", ms_or_null(lease_left)},
      {"ageMs", ms_or_null(age)}, {"confirmed", confirmed}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string LeaderAnswer::to_text(const std::string& election) const {
  const std::string number = std::to_string(epoch.value());
  if (!leader) {
    return epoch == Epoch(0) ? "there has been no leader of " + election + " yet"
                             : "nobody leads " + election + "; the last epoch was " + number;
  }
  std::string text = leader->value() + " leads " + election + ", epoch " + number;
  if (lease_left) text += ", lease left " + format_duration(in_ms(*lease_left));
  if (age) text += ", renewed " + format_duration(in_ms(*age)) + " ago";
  if (!confirmed) text += "; one read cannot tell whether it is still alive, --confirm can";
  return text;
}

}  // namespace muster::cli
