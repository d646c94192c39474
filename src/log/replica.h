#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/log/append.h"
#include "core/log/entry.h"
#include "core/log/log_clock.h"
#include "log/compactor.h"
#include "log/context.h"
#include "log/manifest_cell.h"
#include "log/replicated_log.h"
#include "log/snapshot_fetch.h"

namespace muster::rlog {

/// The implementation of ReplicatedLog. At any time at most one operation on numbers is under way:
/// a round of reading, an append, or the loading of a snapshot. proceed() chooses the next one.
/// Compaction runs concurrently, because it touches no number above the floor.
///
/// In four files: replica.cc (choosing, applying, ending), replica_open.cc, replica_read.cc,
/// replica_lead.cc.
class ReplicatedLog::Impl {
 public:
  Impl(Options options, Surroundings surroundings);

  void open(Callback<Done> done);
  void lead(Epoch epoch, Incarnation incarnation, Callback<Done> done);
  void append(std::string command, Callback<Ack> done);
  void seal(Seal seal, Callback<Index> done);
  void retire(Callback<Done> done);
  void read_barrier(Callback<Index> done);
  void compact(Callback<Index> done);

  [[nodiscard]] bool leads() const { return term_ && term_->confirmed && !term_->retiring; }
  [[nodiscard]] const Position& position() const { return position_; }
  [[nodiscard]] Index head_seen() const { return std::max(head_seen_, position_.index); }
  [[nodiscard]] MonoTime last_contact() const { return last_contact_; }
  [[nodiscard]] std::optional<MonoTime> unanswered_since() const { return unanswered_since_; }
  [[nodiscard]] const std::string& log_id() const { return manifest_.value().log_id; }

 private:
  struct Term {
    Epoch epoch;
    Incarnation incarnation;
    std::optional<LogClock> clock;  ///< Since the barrier.
    bool caught_up = false;         ///< A round since lead() has seen the head.
    bool confirmed = false;         ///< The barrier was accepted.
    bool retiring = false;
    Callback<Done> on_lead;
    std::vector<Callback<Done>> on_retired;
  };
  struct Waiting {
    std::string command;
    Callback<Ack> done;
  };
  struct Sealing {
    Seal seal;
    Callback<Index> done;
    bool sent = false;  ///< It is part of the append in flight.
  };
  struct Round {
    Index first;
    std::vector<std::optional<Result<Object>>> answers;  ///< For first, first + 1, …
    std::optional<Result<Object>> anchor;                ///< For the last applied entry.
    bool wants_anchor = false;
    std::size_t missing = 0;
    MonoTime began;
    std::uint64_t readers_before = 0;
  };
  struct Reader {
    std::uint64_t number;
    MonoTime by;
    Callback<Index> done;
  };

  // replica.cc
  void schedule();
  void proceed();
  void idle();
  enum class Origin { kOwn, kOther };
  [[nodiscard]] bool apply(std::string_view body, Origin origin, Verdict* verdict = nullptr);
  void depose(const std::string& reason, Errc to_lead = Errc::kConflict);
  void stop(Error reason);
  void tell(Event event);

  // replica_open.cc
  void read_manifest();
  void make_manifest();
  void refuse_remains(const Key& key);
  void put_manifest();
  void begin_at_manifest();
  void name_log();
  void load_snapshot();
  void start_loading(const SnapshotRef& ref);
  void loaded(const SnapshotRef& ref);
  void start_watch();
  void opened();
  void report_delay(const Error& reason);
  void retry(void (Impl::*step)(), const Error& reason);

  // replica_read.cc
  [[nodiscard]] bool anchor_wanted() const;
  [[nodiscard]] bool anchor_overdue() const;
  void start_round();
  void ask(Index index, std::optional<Result<Object>>& answer);
  void round_answered();
  void finish_round();
  void at_head();
  void on_watch(const WatchEvent& event);
  void drain_pushed();
  void answer_readers(std::uint64_t before);
  void expire_readers();
  [[nodiscard]] Error moved() const;
  void look_later(Duration wait);
  void back_off();

  // replica_lead.cc
  void start_append();
  void take_batch(std::vector<std::string>& commands);
  void perform(Append::Step step);
  void put();
  void settled_own();
  void settled_other(const std::string& body);
  void settled_unknown(bool compacted);
  void answer_in_flight(const Error& error);
  void refuse_waiting(const std::string& why);
  void end_term_if_retiring();
  void compact_if_due();

  Context context_;
  StateMachine& machine_;
  std::function<void(const Event&)> listener_;
  ManifestCell manifest_;
  Compactor compactor_;

  enum class Mode { kClosed, kOpening, kOpen, kStopped };
  Mode mode_ = Mode::kClosed;
  Callback<Done> on_open_;
  std::string delayed_by_;  ///< The reason reported last.
  bool busy_ = false;       ///< An operation on numbers is under way.
  bool scheduled_ = false;  ///< proceed() is posted.
  Position position_;
  Index head_seen_;
  MonoTime last_contact_{};
  std::optional<MonoTime> unanswered_since_;

  Round round_;
  std::size_t width_ = 1;                ///< The number of entries that the next round reads.
  MonoTime round_not_before_{};          ///< After a failure: gives a store in trouble time.
  bool look_ = false;                    ///< There may be new entries to read.
  bool anchor_due_ = false;              ///< The next round must also find the last applied entry.
  MonoTime anchored_{};                  ///< When a round last did that.
  std::map<Index, std::string> pushed_;  ///< Pushed by watch while busy; bounded.
  std::uint64_t next_reader_ = 0;
  std::deque<Reader> readers_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<SnapshotLoader> loader_;
  std::unique_ptr<SnapshotFetch> fetch_;
  struct Lost {
    SnapshotRef ref;
    Error reason;
  };
  std::optional<Lost> lost_;  ///< A snapshot with a missing part.

  std::optional<Term> term_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::optional<Sealing> sealing_;
  std::optional<Append> append_;
  MonoTime append_began_{};
  std::string append_trouble_;  ///< The store's error for its last attempt; empty: none.
  std::uint64_t readers_before_append_ = 0;
  std::vector<Callback<Ack>> in_flight_;
  std::uint64_t bytes_since_snapshot_ = 0;
  MonoTime compact_not_before_{};

  Timer look_timer_;
  Timer step_timer_;
  Timer reader_timer_;
  Lifetime lifetime_;
};

}  // namespace muster::rlog
