#include "plugins/counter_records.h"

#include <charconv>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "plugins/record_json.h"

namespace muster::counters {
namespace {

using record::Json;

// As many digits as the largest number has, so that the order of keys is the order of numbers.
constexpr std::size_t kDigits = 20;
/// Longer than any lane is remembered, and nothing added overflows.
constexpr Duration kSilentMax = 100 * 365 * 24h;

std::optional<std::int64_t> parse_signed(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// What follows `name` in a part of a key; empty when the part is another.
std::string_view after(std::string_view part, std::string_view name) {
  return part.starts_with(name) ? part.substr(name.size()) : std::string_view();
}

}  // namespace

std::string encode(const Total& total, const std::string& nonce) {
  Json json;
  json["value"] = total.value;
  json["epoch"] = total.epoch.value();
  Json& lanes = json["lanes"] = Json::object();
  for (const auto& [name, lane] : total.lanes) {
    lanes[name] = {lane.folded, to_ms(lane.silent)};
  }
  json["updatedAt"] = to_ms(total.updated_at);
  json["nonce"] = nonce;
  return record::dump(json);
}

Result<Total> decode_total(std::string_view body) {
  const Json json = record::parse(body);
  if (!json.is_object()) return {Errc::kCorrupt, "the total is not a JSON object"};
  const auto value = json.find("value");
  const auto epoch = record::number(json, "epoch");
  const auto lanes = json.find("lanes");
  const auto updated = record::wall(json, "updatedAt");
  if (value == json.end() || !value->is_number_integer() || !epoch || lanes == json.end() ||
      !lanes->is_object() || !updated) {
    return {Errc::kCorrupt, "the total lacks its value, epoch, time or lanes"};
  }
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX) {
    return {Errc::kCorrupt, "the total exceeds the range of 64 bits"};
  }
  Total total;
  total.value = value->get<std::int64_t>();
  total.epoch = Epoch(*epoch);
  total.updated_at = *updated;
  for (const auto& [name, lane] : lanes->items()) {
    if (!lane.is_array() || lane.size() != 2 || !lane[0].is_number_unsigned() ||
        !lane[1].is_number_unsigned() ||
        lane[1].get<std::uint64_t>() > static_cast<std::uint64_t>(to_ms(kSilentMax))) {
      return {Errc::kCorrupt, "a lane of the total is not two numbers, or was silent for ever"};
    }
    total.lanes[name] = {lane[0].get<std::uint64_t>(),
                         std::chrono::milliseconds(lane[1].get<std::uint64_t>())};
  }
  return total;
}

Key Keys::delta(const Delta& delta) const {
  std::string number = std::to_string(delta.number);
  number.insert(0, kDigits - number.size(), '0');
  return deltas_of(delta.counter, delta.lane) + "number=" + number +
         "/amount=" + std::to_string(delta.amount);
}

std::optional<Delta> Keys::delta_of(std::string_view key) const {
  if (!key.starts_with(deltas)) return {};
  const std::vector<std::string_view> parts = split(key.substr(deltas.size()), '/');
  if (parts.size() != 4) return {};
  const std::string_view counter = after(parts[0], "counter=");
  const std::string_view lane = after(parts[1], "lane=");
  const auto number = parse_unsigned(after(parts[2], "number="));
  const auto amount = parse_signed(after(parts[3], "amount="));
  if (counter.empty() || lane.empty() || !number || !amount) return {};
  return Delta{std::string(counter), std::string(lane), *number, *amount};
}

}  // namespace muster::counters
