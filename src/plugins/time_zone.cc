#include "plugins/time_zone.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>

namespace muster {
namespace {

using std::chrono::hours;
using std::chrono::local_seconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr const char* kDatabase = "/usr/share/zoneinfo/";
constexpr std::size_t kHeaderBytes = 44;
constexpr std::size_t kTypeBytes = 6;
// Beyond any that ever was, and the limit of the format.
constexpr seconds kOffsetMax = hours(26);

Error corrupt(const char* why) {
  return {Errc::kCorrupt, std::string("time zone file: ") + why};
}

/// A number of `bytes` bytes, the most significant one first.
std::int64_t big_endian(std::string_view data, std::size_t at, std::size_t bytes) {
  std::uint64_t value = bytes > 0 && (data[at] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value = value << 8 | static_cast<unsigned char>(data[at + i]);
  }
  return static_cast<std::int64_t>(value);
}

/// How many there are of each thing in the block after a header, in the order of the format.
struct Counts {
  std::size_t is_utc, is_standard, leaps, times, types, chars;

  [[nodiscard]] std::size_t block_bytes(std::size_t time_bytes) const {
    return times * (time_bytes + 1) + types * kTypeBytes + chars + leaps * (time_bytes + 4) +
           is_standard + is_utc;
  }
};

std::optional<Counts> read_header(std::string_view data) {
  if (data.size() < kHeaderBytes || data.substr(0, 4) != "TZif" || data[4] < '2') return {};
  std::size_t counts[6];
  for (std::size_t i = 0; i < 6; ++i) {
    const std::int64_t count = big_endian(data, 20 + 4 * i, 4);
    // No count exceeds the file; this also keeps the sums below from overflowing.
    if (count < 0 || static_cast<std::size_t>(count) > data.size()) return {};
    counts[i] = static_cast<std::size_t>(count);
  }
  return Counts{counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]};
}

bool is_zone_name(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '/' || c == '_' || c == '-' || c == '+';
  });
  return plain && !name.empty() && name.front() != '/' && name.size() <= 64;
}

}  // namespace

Result<TimeZone> TimeZone::parse(std::string_view file) {
  // Version 1 data comes first, for readers of old; what counts are the 64-bit times after it.
  const auto old = read_header(file);
  if (!old) return corrupt("not of version 2 or later");
  if (file.size() < kHeaderBytes + old->block_bytes(4)) return corrupt("cut short");
  file.remove_prefix(kHeaderBytes + old->block_bytes(4));
  const auto counts = read_header(file);
  if (!counts) return corrupt("its second header is wrong");
  file.remove_prefix(kHeaderBytes);
  if (file.size() < counts->block_bytes(8)) return corrupt("cut short");
  if (counts->leaps != 0) return corrupt("it counts leap seconds; take the zone without right/");
  if (counts->types == 0) return corrupt("it has no local time");

  std::vector<seconds> offsets;
  const std::size_t types_at = counts->times * 9;
  for (std::size_t i = 0; i < counts->types; ++i) {
    const seconds offset(big_endian(file, types_at + i * kTypeBytes, 4));
    if (offset < -kOffsetMax || offset > kOffsetMax) return corrupt("an offset beyond 26 hours");
    offsets.push_back(offset);
  }

  TimeZone zone;
  zone.before_ = offsets[0];
  for (std::size_t i = 0; i < counts->times; ++i) {
    const sys_seconds at{seconds(big_endian(file, i * 8, 8))};
    const auto type = static_cast<unsigned char>(file[counts->times * 8 + i]);
    if (type >= offsets.size()) return corrupt("an unknown local time");
    if (i > 0 && at <= zone.transitions_.back().at) return corrupt("its times do not rise");
    zone.transitions_.push_back({at, offsets[type]});
  }

  file.remove_prefix(counts->block_bytes(8));
  if (file.size() < 2 || file.front() != '\n' || file.back() != '\n') return corrupt("no footer");
  const std::string_view footer = file.substr(1, file.size() - 2);
  if (footer.empty()) return zone;
  auto rule = ZoneRule::parse(footer);
  if (!rule) return rule.error();
  zone.rule_ = *rule;
  return zone;
}

Result<TimeZone> TimeZone::load(const std::string& name) {
  if (name == "UTC") return TimeZone();
  if (!is_zone_name(name)) return {Errc::kInvalid, "not the name of a time zone: " + name};
  std::ifstream in(kDatabase + name, std::ios::binary);
  std::ostringstream content;
  if (!in || !(content << in.rdbuf())) {
    return {Errc::kNotFound, "no time zone " + name + " here; is the package tzdata installed?"};
  }
  auto zone = parse(content.str());
  if (!zone) return {zone.code(), name + ": " + zone.error().message};
  return zone;
}

ZoneSpan TimeZone::span_at(sys_seconds t) const {
  const auto next =
      std::upper_bound(transitions_.begin(), transitions_.end(), t,
                       [](sys_seconds when, const Transition& x) { return when < x.at; });
  if (next == transitions_.end() && rule_) return rule_->span_at(t);
  return {next == transitions_.begin() ? before_ : std::prev(next)->offset,
          next == transitions_.end() ? sys_seconds::max() : next->at};
}

sys_seconds TimeZone::first_at(local_seconds local) const {
  // At the first of these instants no clock on earth shows `local` yet.
  sys_seconds begin(local.time_since_epoch() - kOffsetMax);
  while (true) {
    const ZoneSpan span = span_at(begin);
    const sys_seconds reached =
        std::max(begin, sys_seconds(local.time_since_epoch() - span.offset));
    if (reached < span.end) return reached;
    begin = span.end;
  }
}

}  // namespace muster
