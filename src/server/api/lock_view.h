#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/cluster/versioned_kv.h"
#include "core/lock/lock_handle.h"
#include "core/lock/lock_records.h"
#include "muster/v1/lock.pb.h"

namespace muster::server {

/// The states of a lock's permits, as they are in the servers' store.
struct LockView {
  struct Holder {
    WorkerId id;
    Incarnation incarnation;          ///< Of one permit; a session has the same one for all.
    std::vector<HeldPermit> permits;  ///< By number.
    Duration ttl{0};
    Duration left{0};  ///< Of the lease that ends first, by log time.

    /// What its client has of it.
    [[nodiscard]] LockHandle handle(const LockShape& of_lock) const {
      return {of_lock, writes(), ttl, permits, id.value()};
    }
    [[nodiscard]] bool writes() const { return permits.front().permit == kWriters; }
    /// Whether these permits are enough to hold a lock of that shape.
    [[nodiscard]] bool enough(const LockShape& of_lock) const {
      return !writes() || permits.size() == of_lock.permits + 1U;
    }
  };
  std::optional<LockShape> shape;  ///< Empty: nobody has taken the lock yet.
  std::vector<Holder> holders;     ///< Without those whose leases have expired.

  /// The holder of a session; null if there is none.
  [[nodiscard]] const Holder* of(const Incarnation& session) const;
  /// "the lock NAME is held by HOLDER", for people.
  [[nodiscard]] std::string held(const std::string& name) const;
};

/// `prefix` is empty or ends with a '/'.
[[nodiscard]] LockView view_lock(const cluster::VersionedKv& kv, membership::LogTime now,
                                 const std::string& prefix, const std::string& name);

/// Without those that wait. Requires: `shape` is there.
void to_proto(const LockView& view, v1::GetLockResponse& out);

/// Whether the state of a permit says that this session has released it since `held`.
[[nodiscard]] bool says_released(const cluster::VersionedKv& kv, const std::string& prefix,
                                 const std::string& name, const Incarnation& session,
                                 const HeldPermit& held);

}  // namespace muster::server
