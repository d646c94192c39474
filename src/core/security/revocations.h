#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::security {

/// The revocations of one CA, from a list whose signature was verified.
struct IssuerRevocations {
  std::string issuer;
  /// Identifies the key that signed the list: a CA that changes its key keeps its name.
  std::string key;
  WallTime this_update;
  WallTime next_update;
  std::unordered_set<std::string> serials;
};

/// The newest list ever accepted from one key of a CA. No older list is accepted again, also after
/// a restart, and however many lists of others came between.
struct RevocationMark {
  std::string issuer;
  std::string key;
  WallTime this_update;
  bool operator==(const RevocationMark&) const = default;
};

enum class Standing {
  kGood,     ///< A list in force does not name it.
  kRevoked,  ///< A list has named it.
  kUnknown,  ///< No list in force covers it: treated as revoked.
};

/// Which certificates are revoked, and whether that is still known. Fails closed:
/// without a list in force no certificate is good, until there is one again. Age
/// counts on the boot clock from the beginning of the request; a list's own dates are
/// wall time, because its CA wrote them so. Not guaranteed: knowledge of connections.
/// Check again while a connection lasts. Pure: no I/O, no clock, no locks. Threads:
/// one.
class Revocations {
 public:
  struct Options {
    Duration refresh = 5min;
    Duration max_age = 1h;
  };
  explicit Revocations(Options options) : options_(options) {}

  /// Takes over the marks of an earlier process; the later mark of a key counts.
  void remember(const std::vector<RevocationMark>& marks);
  /// One for every key that ever signed an accepted list; to be kept across restarts.
  [[nodiscard]] std::vector<RevocationMark> marks() const;

  /// Replaces the lists by these, which were requested at `begun`. kCorrupt, and the earlier lists
  /// stay, if one has expired, is not yet in force, or is older than one ever accepted from the
  /// same key: a replayed list would make revoked certificates valid again.
  [[nodiscard]] Status accept(std::vector<IssuerRevocations> lists, MonoTime begun, WallTime wall);
  /// The lists could not be fetched, or were invalid.
  void note_failure();

  [[nodiscard]] Standing standing(const std::string& issuer, const std::string& serial,
                                  MonoTime now, WallTime wall) const;
  /// Why no certificate is good now; none while lists are in force.
  [[nodiscard]] std::optional<std::string> closed_because(MonoTime now, WallTime wall) const;
  /// How long until a certificate that is good now stops being so, if no list comes; none if no
  /// certificate is good.
  [[nodiscard]] std::optional<Duration> good_for(MonoTime now, WallTime wall) const;
  /// When to fetch again: soon after a failure, so that recovery is quick.
  [[nodiscard]] Duration next_attempt() const;
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  [[nodiscard]] bool failing() const { return failing_; }
  /// The validity of a list by its own dates, in all and from now on.
  struct Term {
    std::chrono::milliseconds whole{0};
    std::chrono::milliseconds left{0};
    /// Time to make a new one: less than a tenth is left.
    [[nodiscard]] bool nearly_over() const { return left < whole / 10; }
  };
  /// Of the list that expires first; none if there are none.
  [[nodiscard]] std::optional<Term> term(WallTime wall) const;
  /// Since the current lists were requested; none if there are none.
  [[nodiscard]] std::optional<Duration> age(MonoTime now) const;

 private:
  [[nodiscard]] Status check(const IssuerRevocations& list, WallTime wall) const;

  Options options_;
  std::map<std::string, IssuerRevocations> by_issuer_;
  /// By issuer and key. Never shrinks: an issuer whose list is missing for a while is not
  /// forgotten.
  std::map<std::pair<std::string, std::string>, WallTime> newest_;
  std::optional<MonoTime> accepted_at_;
  bool failing_ = false;
  std::uint64_t failures_ = 0;
};

}  // namespace muster::security
