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

/// What one authority has revoked, from a list whose signature somebody has verified.
struct IssuerRevocations {
  std::string issuer;
  /// Names the key that signed the list: an authority that changes its key keeps its name.
  std::string key;
  WallTime this_update;
  WallTime next_update;
  std::unordered_set<std::string> serials;
};

/// The newest list ever accepted of one key of an authority. Nothing older counts again, also after
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
  kUnknown,  ///< No list in force says anything: treated as revoked.
};

/// Which certificates are revoked, and whether that is still known. Fails closed: without a list in
/// force nothing is good, and it is so again as soon as there is one. Age is counted on the boot
/// clock from when the asking began; a list's own dates are wall time, the only use of it here,
/// because its authority wrote them so.
/// Does not know who is connected: whoever asks must ask again while a connection lasts.
/// Pure: no I/O, no clock, no locks; one thread.
class Revocations {
 public:
  struct Options {
    Duration refresh = 5min;
    Duration max_age = 1h;
  };
  explicit Revocations(Options options) : options_(options) {}

  /// Takes over what an earlier process has accepted; the later mark of a key counts.
  void remember(const std::vector<RevocationMark>& marks);
  /// One for every key that ever signed a list which was accepted; to be kept across restarts.
  [[nodiscard]] std::vector<RevocationMark> marks() const;

  /// Replaces what is known by these lists, which were asked for at `begun`. kCorrupt, and the
  /// lists at hand stay, when one has expired, is not yet in force, or is older than one ever
  /// accepted from the same key: a replayed list would bring revoked certificates back.
  [[nodiscard]] Status accept(std::vector<IssuerRevocations> lists, MonoTime begun, WallTime wall);
  /// The lists could not be had, or were no good.
  void note_failure();

  [[nodiscard]] Standing standing(const std::string& issuer, const std::string& serial,
                                  MonoTime now, WallTime wall) const;
  /// Why nothing is good now; none while lists are in force.
  [[nodiscard]] std::optional<std::string> closed_because(MonoTime now, WallTime wall) const;
  /// How long it is until something that is good now is so no more, if no list comes; none when
  /// nothing is good.
  [[nodiscard]] std::optional<Duration> good_for(MonoTime now, WallTime wall) const;
  /// When to ask again: soon after a failure, so that the way back is short.
  [[nodiscard]] Duration next_attempt() const;
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  [[nodiscard]] bool failing() const { return failing_; }
  /// How long a list counts by its own dates, in all and from now on.
  struct Term {
    std::chrono::milliseconds whole{0};
    std::chrono::milliseconds left{0};
    /// Time to make a new one: less than a tenth is left.
    [[nodiscard]] bool nearly_over() const { return left < whole / 10; }
  };
  /// Of the list that runs out first; none when there are none.
  [[nodiscard]] std::optional<Term> term(WallTime wall) const;
  /// Since the lists at hand were asked for; none when there are none.
  [[nodiscard]] std::optional<Duration> age(MonoTime now) const;

 private:
  [[nodiscard]] Status check(const IssuerRevocations& list, WallTime wall) const;

  Options options_;
  std::map<std::string, IssuerRevocations> by_issuer_;
  /// By issuer and key. Never shrinks: an issuer whose list is left out for a while is not
  /// forgotten.
  std::map<std::pair<std::string, std::string>, WallTime> newest_;
  std::optional<MonoTime> accepted_at_;
  bool failing_ = false;
  std::uint64_t failures_ = 0;
};

}  // namespace muster::security
