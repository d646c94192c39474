#include "plugins/run_record.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "plugins/record_json.h"

namespace muster {
namespace {

using Json = nlohmann::json;

// Exact in every JSON reader.
constexpr std::uint64_t kNumberMax = (1ULL << 53) - 1;
constexpr RunState kStates[] = {RunState::kScheduled, RunState::kClaimed, RunState::kSucceeded,
                                RunState::kFailed, RunState::kInterrupted};

std::optional<std::uint64_t> number(const Json& json, const char* name, std::uint64_t max) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_number_unsigned()) return {};
  const auto value = it->get<std::uint64_t>();
  return value <= max ? std::optional(value) : std::nullopt;
}

std::optional<std::string> text(const Json& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_string()) return {};
  return it->get<std::string>();
}

std::optional<RunState> state(const Json& json) {
  const auto name = text(json, "outcome");
  for (const RunState known : kStates) {
    if (name == to_string(known)) return known;
  }
  return {};
}

}  // namespace

const char* to_string(RunState state) {
  switch (state) {
    case RunState::kScheduled:
      return "scheduled";
    case RunState::kClaimed:
      return "claimed";
    case RunState::kSucceeded:
      return "succeeded";
    case RunState::kFailed:
      return "failed";
    case RunState::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

std::string encode(const RunRecord& record) {
  const Json json = {{"cron", record.cron},
                     {"zone", record.zone},
                     {"lastDue", to_ms(record.last_due)},
                     {"previousDue", to_ms(record.previous_due)},
                     {"epoch", record.epoch.value()},
                     {"attempt", record.attempt},
                     {"nonce", record.nonce.value()},
                     {"outcome", to_string(record.state)}};
  return json.dump();
}

Result<RunRecord> decode_run_record(std::string_view body) {
  const Json json = record::parse(body);
  if (!json.is_object()) return {Errc::kCorrupt, "run record: not a JSON object"};
  const auto cron = text(json, "cron");
  const auto zone = text(json, "zone");
  const auto last_due = number(json, "lastDue", record::kTimeMax);
  const auto previous_due = number(json, "previousDue", record::kTimeMax);
  const auto epoch = number(json, "epoch", kNumberMax);
  const auto attempt = number(json, "attempt", kNumberMax);
  const auto nonce = text(json, "nonce");
  const auto outcome = state(json);
  if (!cron || !zone || !last_due || !previous_due || !epoch || !attempt || !nonce || !outcome) {
    return {Errc::kCorrupt, "run record: a field is missing or of the wrong kind"};
  }
  const auto time = [](std::uint64_t ms) { return wall_from_ms(static_cast<std::int64_t>(ms)); };
  return RunRecord{*cron,         *zone,    time(*last_due), time(*previous_due),
                   Epoch(*epoch), *attempt, Nonce(*nonce),   *outcome};
}

}  // namespace muster
