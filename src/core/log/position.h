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

/// States that the log continues elsewhere. Every later entry is void.
struct Seal {
  std::string move_id;
  std::string target;  ///< For people: the address of the store that the log moves to.
  bool operator==(const Seal&) const = default;
};

/// The state that decides about the next entry: the writer of the last accepted one, and the chain
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

/// The position at the beginning of a log: its chain is tied to its original id.
[[nodiscard]] Position beginning(const std::string& origin);

}  // namespace muster::rlog
