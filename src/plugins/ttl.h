#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/random.h"
#include "coordinator/plugin.h"
#include "elector/sync_store.h"
#include "platform/system_clock.h"

namespace muster {

/// The JSON field `_expiresAt` in milliseconds; none if the body has no such field.
[[nodiscard]] std::optional<WallTime> expiry_field(std::string_view body);
/// Whether a body is the tombstone of the TTL plugin, for stores that cannot remove at a revision.
/// Readers must treat it as "no such record".
[[nodiscard]] bool is_tombstone(std::string_view body);

struct TtlOptions {
  std::string prefix;           ///< All records, but no file of the coordinator itself.
  std::size_t batch_max = 100;  ///< Records examined in one call, a read each.
  Duration interval = 10s;      ///< Between two calls.
  Duration margin = 0s;         ///< Kept this much longer, as clocks differ.
  /// A body's expiry; a record without one is never removed.
  std::function<std::optional<WallTime>(std::string_view)> expiry = expiry_field;
  /// Only for stores without conditional removal: how long a tombstone stays before its final
  /// removal. Unset: for ever. Setting it requires a promise of the writers, see Ttl.
  std::optional<Duration> sweep_after;
};

struct TtlMetrics {
  std::uint64_t examined = 0;
  std::uint64_t removed = 0;     ///< At the revision read; tombstones put in place count here.
  std::uint64_t kept = 0;        ///< Not expired, without an expiry, or already gone.
  std::uint64_t conflicts = 0;   ///< Renewed between read and removal, and so kept.
  std::uint64_t swept = 0;       ///< Tombstones removed for good.
  std::uint64_t unresolved = 0;  ///< The store gave no clear answer; the next pass retries.
  std::uint64_t passes = 0;      ///< Times that the end of the prefix was reached.
};

/// Removes expired records under a prefix, and never one that was renewed: every removal is a
/// compare-and-swap at the revision whose expiry was read.
///
/// Where the store cannot remove at a revision (S3), the record is replaced at its revision by a
/// tombstone. A tombstone may be replaced at its revision, as any record, which makes its key live
/// again. Removing it for good is a plain delete there, which an unlucky network may deliver late;
/// so it is done only with sweep_after, and only rightly when the writers keep this rule: *a key
/// is used for one record*. It is created if absent, renewed at its revision, never written over
/// a tombstone and never made again. TtlRecord keeps it, by keys that are new each time. Then a
/// delete, however late, has nothing to hit but the tombstone.
///
/// Expired means by the leader's wall clock. Bounded work in each call, which ends early with the
/// term; the next call goes on where it stopped, a new term begins anew. metrics() from any thread.
class Ttl final : public CoordinatorPlugin {
 public:
  Ttl(SyncStore& store, TtlOptions options, Random random = system_random());

  [[nodiscard]] TtlMetrics metrics() const MUSTER_EXCLUDES(metrics_mutex_);

  [[nodiscard]] std::string name() const override { return "ttl"; }
  [[nodiscard]] Duration work_interval() const override { return options_.interval; }
  void on_become_coordinator(const LeaseGuard& guard) override;
  void coordinator_work(const LeaseGuard& guard) override;

 private:
  /// False when there is nothing more to examine in this call.
  [[nodiscard]] bool fill_page(const LeaseGuard& guard);
  void examine(const Key& key, const LeaseGuard& guard);
  void bury(const Key& key, const Revision& revision, const LeaseGuard& guard);
  void sweep(const Key& key, const Object& tombstone);
  void settle(const Key& key, const Status& outcome, std::uint64_t TtlMetrics::*success);
  void count(std::uint64_t TtlMetrics::*metric) MUSTER_EXCLUDES(metrics_mutex_);

  SyncStore& store_;
  const TtlOptions options_;
  Random random_;
  std::deque<Key> page_;  ///< Listed and not yet examined; at most one page.
  std::string next_;      ///< Where the list continues; empty at its beginning.
  mutable Mutex metrics_mutex_;
  TtlMetrics metrics_ MUSTER_GUARDED_BY(metrics_mutex_);
};

/// The writer's side of one record with an expiry: a JSON object that it owns, under a key that is
/// used once. Threads: one.
class TtlRecord {
 public:
  /// Creates `prefix` + a UUID. `fields` is a JSON object, to which `_expiresAt` and `nonce` are
  /// added. On kAmbiguous the record may exist; it expires by itself.
  [[nodiscard]] static Result<TtlRecord> create(SyncStore& store, const std::string& prefix,
                                                std::string_view fields, Duration ttl,
                                                Random random = system_random());

  /// Moves the expiry to `ttl` from now. kNotFound: the record was removed; create another.
  /// kConflict: another process wrote the record. kAmbiguous, kUnavailable: try again.
  [[nodiscard]] Status renew(Duration ttl) { return renew(ttl, fields_); }
  /// Likewise, with new fields.
  [[nodiscard]] Status renew(Duration ttl, std::string_view fields);

  [[nodiscard]] const Key& key() const { return key_; }

 private:
  TtlRecord(SyncStore& store, Key key, Random random)
      : store_(&store), key_(std::move(key)), random_(random) {}
  [[nodiscard]] Status write(Duration ttl, std::string_view fields, Precondition when);
  [[nodiscard]] Result<Revision> read_back(const std::string& body, const Precondition& when,
                                           const Error& error);

  SyncStore* store_;
  Key key_;
  Random random_;
  std::string fields_;
  Revision revision_;
  Nonce nonce_;  ///< Of the writes not confirmed yet.
};

}  // namespace muster
