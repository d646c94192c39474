#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/lock/lock_machine.h"
#include "core/lock/lock_records.h"

namespace muster {

/// What a holder elsewhere must show so that any server can go on with its lock: which permits it
/// holds, and since which epochs. It proves nothing: the states of the permits do.
struct LockHandle {
  LockShape shape;
  bool writes = false;
  Duration ttl{0};
  std::vector<HeldPermit> permits;  ///< By number.
  std::string holder;               ///< For people.
  bool operator==(const LockHandle&) const = default;
};

/// Printable ASCII without quotes or spaces, at most 2 KiB.
[[nodiscard]] std::string encode(const LockHandle& handle);
/// kInvalid: no encode() made it.
[[nodiscard]] Result<LockHandle> decode_lock_handle(std::string_view text);

}  // namespace muster
