#include "cli/decision_text.h"

#include "cli/event_text.h"

namespace muster::cli {

nlohmann::ordered_json to_json(const client::DecisionRecord& d) {
  nlohmann::ordered_json json{{"seq", d.seq},         {"at", to_ms(d.at)}, {"kind", d.kind},
                              {"subject", d.subject}, {"from", d.from},    {"to", d.to},
                              {"cause", d.cause},     {"text", d.text},    {"asked_by", d.asked_by},
                              {"epoch", d.epoch}};
  if (d.silence == Duration(0)) return json;
  json["last_heartbeat_at"] = to_ms(d.last_heartbeat_at);
  json["silence_ms"] = to_ms(d.silence);
  json["suspect_after_ms"] = to_ms(d.suspect_after);
  json["down_after_ms"] = to_ms(d.down_after);
  json["damped"] = d.damped;
  json["listened_ms"] = to_ms(d.listened);
  json["grace_ms"] = to_ms(d.grace);
  json["down_allowed"] = d.down_allowed;
  json["down_in_use"] = d.down_in_use;
  return json;
}

std::string timeline(const std::vector<client::DecisionRecord>& decisions) {
  std::string text;
  for (const client::DecisionRecord& each : decisions) {
    text += format_time(each.at) + "  " + each.text + "\n";
  }
  return text;
}

}  // namespace muster::cli
