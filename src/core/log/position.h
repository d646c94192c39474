#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/strong.h"
#include "core/log/digest.h"
#include "core/membership/node.h"

// The replicated log's own namespace is `rlog`: `muster::log` is the function that logs a line.
namespace muster::rlog {

/// The number of an entry. The first is 1; 0 is "before everything".
struct IndexTag {};
using Index = Strong<IndexTag, std::uint64_t>;
[[nodiscard]] constexpr Index next(Index index) {
  return Index(index.value() + 1);
}

using membership::LogTime;

/// Says that the log goes on elsewhere. Every entry after it is void.
struct Seal {
  std::string move_id;
  std::string target;  ///< For people: the address of the store that the log moves to.
  bool operator==(const Seal&) const = default;
};

/// Everything that decides about the next entry: who wrote the last accepted one, and the chain
/// hash over all numbers so far.
struct Position {
  Index index;
  Epoch epoch;
  Incarnation incarnation;
  LogTime time{};
  Digest chain{};
  std::optional<Seal> seal;
  bool operator==(const Position&) const = default;
};

/// Where a log begins: its chain is tied to the log it was made as.
[[nodiscard]] Position beginning(const std::string& origin);

}  // namespace muster::rlog
