#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace muster::remote {

/// Notices that the store behind an address is not the one seen before: another cluster, or the
/// same one restored from an older copy. Promises made on the strength of what was read then, such
/// as an epoch, would be void, so the finding stays until the store is opened anew.
/// Pure; one thread.
class Identity {
 public:
  explicit Identity(std::string address) : address_(std::move(address)) {}

  /// The highest revision known to exist. Take it before a request is sent: answers of requests
  /// that run side by side may come in any order.
  [[nodiscard]] std::int64_t floor() const { return floor_; }

  /// An answer's header. `floor` is what floor() was when its request was sent; an answer that is
  /// not linearizable passes 0 and is judged by its cluster alone. A store without cluster ids
  /// always passes the same.
  Status observe(std::uint64_t cluster_id, std::int64_t revision, std::int64_t floor);

  /// kCorrupt once the store has changed its identity.
  [[nodiscard]] Status status() const;

 private:
  std::string address_;
  std::optional<std::uint64_t> cluster_id_;
  std::int64_t floor_ = 0;
  std::optional<Error> broken_;
};

}  // namespace muster::remote
