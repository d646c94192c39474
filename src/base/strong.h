#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace muster {

/// A value that cannot be mixed up with another of the same representation.
template <typename Tag, typename T>
class Strong {
 public:
  constexpr Strong() = default;
  constexpr explicit Strong(T value) : value_(std::move(value)) {}
  [[nodiscard]] constexpr const T& value() const { return value_; }
  auto operator<=>(const Strong&) const = default;
  bool operator==(const Strong&) const = default;

 private:
  T value_{};
};

/// Counts acquisitions of one election's leadership. 0 means "never led".
struct EpochTag {};
using Epoch = Strong<EpochTag, std::uint64_t>;
[[nodiscard]] constexpr Epoch next(Epoch epoch) {
  return Epoch(epoch.value() + 1);
}

/// Names one worker of an election. Compared by bytes, as the choice of leader requires.
struct WorkerIdTag {};
using WorkerId = Strong<WorkerIdTag, std::string>;

/// One run of one worker: a UUID made at start, which distinguishes two processes with the same id.
struct IncarnationTag {};
using Incarnation = Strong<IncarnationTag, std::string>;

/// Makes each stored body unique, so that an ETag that is a hash of the body never repeats.
struct NonceTag {};
using Nonce = Strong<NonceTag, std::string>;

/// A store's name for one version of an object (an ETag, a mod revision). Opaque: equal or not.
struct RevisionTag {};
using Revision = Strong<RevisionTag, std::string>;

/// Names one node of a topology.
struct NodeIdTag {};
using NodeId = Strong<NodeIdTag, std::string>;

/// Counts changes of a topology.
struct TopologyVersionTag {};
using TopologyVersion = Strong<TopologyVersionTag, std::uint64_t>;

}  // namespace muster

template <typename Tag, typename T>
struct std::hash<muster::Strong<Tag, T>> {
  std::size_t operator()(const muster::Strong<Tag, T>& s) const {
    return std::hash<T>{}(s.value());
  }
};
