#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"

namespace muster::client {

/// A campaign through musterd's ElectionService.
struct CampaignConfig {
  std::string name;   ///< Of the election.
  WorkerId id;        ///< Unique in the election.
  std::string value;  ///< Published while this worker leads.
  Duration lease = 15s;
  std::string prefix;            ///< The path of a `muster://` address, to share its elections.
  Duration first_delay = 100ms;  ///< Before a stream is reopened; doubles while that fails.
  Duration delay_max = 2s;

  /// kInvalid names the field.
  [[nodiscard]] Status validate() const;
};

enum class CampaignEventKind {
  kWaiting,       ///< Another worker leads, or none: `leader`, `value`, `epoch`. Told once.
  kGranted,       ///< This worker leads `epoch`.
  kGiveUp,        ///< An operator wants another leader, for `reason`: stop the work, then resign.
  kLost,          ///< It leads no longer, for `reason`: stop the work, then say that it has ended.
  kResigned,      ///< The lease was released, if `confirmed`: a successor begins at once.
  kTrouble,       ///< For people: `reason`.
  kDisconnected,  ///< No server answers; a term that runs goes on until its deadline.
  kRefused,       ///< Final: the servers refuse the campaign, for `reason`.
  kEnded,         ///< Final: after stop().
};
[[nodiscard]] const char* to_string(CampaignEventKind kind);

struct CampaignEvent {
  CampaignEventKind kind;
  Epoch epoch{};
  std::string leader{};
  std::string value{};
  std::string reason{};
  bool confirmed = false;
};

/// What a server says on the stream.
struct CampaignNews {
  enum class Kind { kWaiting, kGranted, kRenewed, kGiveUp, kLost, kResigned, kTrouble };
  Kind kind;
  Epoch epoch{};
  std::uint64_t beat = 0;
  Duration left{0};
  std::string leader{};
  std::string value{};
  std::string reason{};
  std::string prefer{};
  bool paused = false;
  bool confirmed = false;
};

/// The decisions of a client that campaigns: until when it leads, when it beats, when it abandons a
/// stream and opens another one, and with which hello.
///
/// Guarantee: leads() is true only between a grant and the earliest of its deadline, a loss, and
/// resign(). The deadline counts from this machine's own send of the beat that was confirmed, and
/// nothing that arrives after it revives the term. After a loss no new term begins before
/// work_ended(). Pure: the caller passes the time. Threads: one.
class CampaignMachine {
 public:
  CampaignMachine(const CampaignConfig& config, Random random) : config_(config), random_(random) {}

  struct Hello {
    std::optional<Epoch> resumed;
    bool paused = false;
  };
  struct Resign {
    std::string prefer;
    bool stay = true;
  };
  /// What is to be sent now, in this order, at once: the time of the call counts as its send. A
  /// hello opens another stream, and replaces the one that there was.
  struct Work {
    std::optional<Hello> hello;
    std::optional<std::uint64_t> beat;
    std::optional<Resign> resign;
    bool close = false;  ///< The stream is of no use any more.
  };
  using Events = std::vector<CampaignEvent>;
  [[nodiscard]] Work take_work(MonoTime now, Events& events);
  /// When take_work() is due.
  [[nodiscard]] MonoTime work_at() const;

  void heard(const CampaignNews& news, MonoTime now, Events& events);
  /// The stream has ended. `final`: the servers will not have this campaign.
  void stream_ended(const std::string& reason, bool final, MonoTime now, Events& events);

  /// The work has ended: hands over, if possible to `prefer`, and campaigns again later.
  void resign(std::string prefer, MonoTime now);
  /// The work of a lost term has ended: campaigns again.
  void work_ended(MonoTime now);
  /// Requires: the work has ended. Resigns, and ends the campaign.
  void stop(MonoTime now);

  [[nodiscard]] bool leads(MonoTime now) const {
    return phase_ == Phase::kLeading && now < deadline_;
  }
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  [[nodiscard]] MonoTime deadline() const { return deadline_; }

 private:
  enum class Phase {
    kWaiting,
    kLeading,
    kLost,       ///< The work may still run.
    kResigning,  ///< Sent, or to be sent, until `deadline_` at the latest.
    kOver,
  };

  void show(const CampaignNews& news, Events& events);
  void lapse(MonoTime now, Events& events);
  void lose(const std::string& reason, Events& events);
  void abandon(MonoTime now);
  void reopen_at(MonoTime when);
  void end_resigning(bool confirmed, Events& events);
  /// The end of a lease that counts from that beat; none if no such beat was sent.
  [[nodiscard]] std::optional<MonoTime> until(const CampaignNews& news) const;
  [[nodiscard]] Duration beat_interval() const { return config_.lease / 4; }
  /// A server that freezes right after an answer is left when less than half of the lease is over,
  /// so that two other servers can be tried.
  [[nodiscard]] Duration patience() const { return config_.lease / 5; }

  CampaignConfig config_;
  Random random_;
  Phase phase_ = Phase::kWaiting;
  Epoch epoch_;
  MonoTime deadline_ = MonoTime::min();
  bool paused_ = false;
  bool stopping_ = false;

  std::optional<CampaignEvent> shown_;  ///< The leader that was reported last.

  bool open_ = false;
  MonoTime open_at_ = MonoTime::min();  ///< Of the next stream.
  int failures_ = 0;
  std::uint64_t next_beat_ = 0;
  std::map<std::uint64_t, MonoTime> sent_;  ///< The beats of this stream that may be named yet.
  std::optional<MonoTime> unanswered_since_;
  MonoTime beat_at_ = MonoTime::max();
  std::optional<Resign> resign_;  ///< To be sent.
  Resign resigning_;              ///< The resignation under way.
  bool close_ = false;            ///< The stream is to be closed.
  std::string prefer_;            ///< By an operator.
};

}  // namespace muster::client
