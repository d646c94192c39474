#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/election/lease.h"
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

/// How long a holder elsewhere holds a lock, counted by its own clock from the send of a request
/// that was received here at `received`; the lock is held until `until` by this clock. Empty: the
/// lease does not begin after the request, so that nothing can be said from its send.
[[nodiscard]] std::optional<Duration> left_since_send(MonoTime received, MonoTime until,
                                                      const LeaseTerms& terms);

}  // namespace muster
