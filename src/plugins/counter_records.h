#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"
#include "store/store.h"

namespace muster::counters {

/// One add. The key has all its data, so that a list is enough to fold; the body is for people. A
/// lane is one writer with one add under way: its numbers begin at 1, and each is sent only after
/// the previous one was written.
struct Delta {
  std::string counter;
  std::string lane;
  std::uint64_t number = 0;
  std::int64_t amount = 0;
  bool operator==(const Delta&) const = default;
};

/// A counter as the leader last folded it.
struct Total {
  std::int64_t value = 0;
  Epoch epoch;  ///< Of the leader that wrote it.
  struct Lane {
    std::uint64_t folded = 0;  ///< Up to and with this number.
    /// How long leaders have seen no further number, each by its own clock: never too much.
    Duration silent{0};
  };
  std::map<std::string, Lane> lanes;
  WallTime updated_at{};

  [[nodiscard]] std::uint64_t folded(const std::string& lane) const {
    const auto it = lanes.find(lane);
    return it == lanes.end() ? 0 : it->second.folded;
  }
};

[[nodiscard]] std::string encode(const Total& total, const std::string& nonce);
[[nodiscard]] Result<Total> decode_total(std::string_view body);

struct Keys {
  explicit Keys(const std::string& name_space)
      : root("plugin=counters/namespace=" + name_space + "/"), deltas(root + "deltas/") {}

  [[nodiscard]] Key total(const std::string& counter) const {
    return root + "totals/counter=" + counter + ".json";
  }
  [[nodiscard]] std::string deltas_of(const std::string& counter) const {
    return deltas + "counter=" + counter + "/";
  }
  [[nodiscard]] std::string deltas_of(const std::string& counter, const std::string& lane) const {
    return deltas_of(counter) + "lane=" + lane + "/";
  }
  [[nodiscard]] Key delta(const Delta& delta) const;
  /// Empty if the key is not a delta.
  [[nodiscard]] std::optional<Delta> delta_of(std::string_view key) const;

  std::string root;
  std::string deltas;
};

}  // namespace muster::counters
