#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/mutex.h"
#include "base/result.h"
#include "core/security/revocations.h"
#include "platform/pki/certificate.h"

namespace muster::server {

/// Keeps the revocation lists: fetches and verifies them, and says of each certificate whether it
/// is still valid. security::Revocations decides; this class fetches.
///
/// A failed fetch is logged and counted from the first one on, and retried sooner than usual.
/// Until the maximum age the current lists stay in force; after it no certificate is good, which
/// is reported at that moment, whatever a fetch is doing, until the next good list. One warning
/// comes when less than a tenth of a list's validity is left. A list is read on the loop's
/// thread, about a millisecond for a thousand entries: a list of a hundred thousand deserves its
/// own loop.
///
/// standing() and health() are for any thread, the rest for the loop's.
class CrlKeeper {
 public:
  using Fetched = std::function<void(Result<std::string>)>;
  /// Gets the bytes of the lists and calls back once, on the loop, by `by`.
  using Fetch = std::function<void(MonoTime by, Fetched done)>;

  struct Options {
    security::Revocations::Options timing = {};
    Duration fetch_timeout = 10s;
    /// The newest lists that earlier runs have accepted.
    std::vector<security::RevocationMark> marks = {};
    /// Keeps them for the next run, whenever one is newer; null where there is no place for it.
    std::function<Status(const std::vector<security::RevocationMark>&)> keep_marks = {};
  };
  struct Health {
    bool failing = false;  ///< The last attempt failed.
    std::uint64_t failures = 0;
    std::optional<Duration> age;                      ///< Of the lists at hand.
    std::optional<security::Revocations::Term> term;  ///< Of the one that expires first.
    std::optional<std::string> closed_because;        ///< Why no certificate is good now.
  };

  CrlKeeper(Loop& loop, Fetch fetch, std::vector<pki::Certificate> authorities, Options options);
  CrlKeeper(const CrlKeeper&) = delete;
  CrlKeeper& operator=(const CrlKeeper&) = delete;

  /// Called if a certificate's status may have changed: servers of long calls check again then.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
  /// Fetches now, and again and again. Also when asked to by an operator, or because a file
  /// changed.
  void refresh();
  /// Other CAs sign from now on. Current lists stay until new ones have been fetched, at once.
  void use_authorities(std::vector<pki::Certificate> authorities);

  [[nodiscard]] security::Standing standing(const std::string& issuer,
                                            const std::string& serial) const
      MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] Health health() const MUSTER_EXCLUDES(mutex_);
  /// The bytes last accepted; empty before there were any.
  [[nodiscard]] const std::string& accepted() const { return accepted_; }

 private:
  void take(const Result<std::string>& bytes, MonoTime begun) MUSTER_EXCLUDES(mutex_);
  [[nodiscard]] Status accept(const Result<std::string>& bytes, MonoTime begun)
      MUSTER_EXCLUDES(mutex_);
  void report(const Status& status, bool was_failing);
  void keep_marks() MUSTER_EXCLUDES(mutex_);
  void await_end() MUSTER_EXCLUDES(mutex_);
  void ran_out();

  Loop& loop_;
  const Fetch fetch_;
  const Options options_;
  std::vector<pki::Certificate> authorities_;
  std::function<void()> changed_;
  bool in_flight_ = false;
  bool again_ = false;        ///< Requested during a fetch that may have begun too early.
  bool closed_ = false;       ///< As was last told.
  bool nearly_over_ = false;  ///< As was last told, too.
  bool marks_lost_ = false;   ///< The marks could not be kept, as was last told.
  std::vector<security::RevocationMark> kept_;  ///< The marks as they are on disk.
  std::string accepted_;                        ///< The bytes last accepted.
  mutable Mutex mutex_;
  security::Revocations revocations_ MUSTER_GUARDED_BY(mutex_);
  Timer timer_;
  Timer end_;  ///< Of what is in force.
  Lifetime lifetime_;
};

}  // namespace muster::server
