#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/strong.h"

namespace muster {

/// A mutex and a semaphore have permits of which each holder takes one. A read/write lock has the
/// writers' permit on top: a reader takes one of the others, a writer takes all.
enum class LockKind { kMutex, kSemaphore, kReadWrite };

/// The most permits that a lock may have: a writer takes each of them.
inline constexpr std::uint32_t kPermitsMax = 64;

/// What every process must agree on to take the same lock.
struct LockShape {
  LockKind kind = LockKind::kMutex;
  std::uint32_t permits = 1;  ///< Without the writers' permit.
  bool operator==(const LockShape&) const = default;
};

/// "a mutex", "a semaphore with 3 permits", "a read/write lock with 8 permits".
[[nodiscard]] std::string to_string(const LockShape& shape);

/// The content of `lock.json`. `nonce` makes the body different from any other.
[[nodiscard]] std::string encode(const LockShape& shape, const Nonce& nonce);
/// kCorrupt gives the reason; kUnsupported: a later version wrote it.
[[nodiscard]] Result<LockShape> decode_lock_shape(std::string_view body);

/// The number of the writers' permit. The others are counted from 1.
inline constexpr std::uint32_t kWriters = 0;

/// The keys of a lock's objects. Each permit has an election of its own below permit(). They are in
/// another place than the elections of users, and no election name leads there.
struct LockKeys {
  explicit LockKeys(const std::string& name)
      : root("plugin=lock/name=" + name + "/"), shape(root + "lock.json") {}

  /// The root of a permit's election.
  [[nodiscard]] std::string permit(std::uint32_t number) const {
    return root + (number == kWriters ? "writer/" : "permit=" + std::to_string(number) + "/");
  }
  /// The number of the permit that a key belongs to; empty if it belongs to none.
  [[nodiscard]] std::optional<std::uint32_t> permit_of(std::string_view key) const;

  std::string root;
  std::string shape;
};

}  // namespace muster
