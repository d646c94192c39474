#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "candidate/leader_work.h"
#include "candidate/supervisor.h"
#include "core/membership/failure_detector.h"
#include "core/membership/options.h"
#include "server/cluster/batcher.h"
#include "server/cluster/replicated_state.h"

namespace muster::server {

/// The work of a server while it leads, and only then: it writes the log, gathers heartbeats into
/// batches and detects silent nodes. The last two are children of a supervisor.
///
/// A term begins when its barrier is in the log. It ends by writing the gathered heartbeats and
/// settling what is in flight. The log refuses later writes of an ended term by their epoch.
/// Threads: loop thread only.
class LeaderTerm final : public LeaderWork {
 public:
  struct Options {
    std::string id;  ///< Of this server.
    membership::Options membership;
    SupervisionOptions supervision;
    Incarnation incarnation;
    /// Heartbeats of so many nodes are being written.
    std::function<void(std::size_t beats)> on_batch{};
  };
  /// Called when a term has begun, before its first heartbeat.
  using OnBegin = std::function<void(Epoch)>;

  LeaderTerm(Loop& loop, ReplicatedState& replica, Options options, OnBegin on_begin);
  ~LeaderTerm() override;

  /// Whether this server leads at this moment, by its lease and by the log. The log still decides
  /// whether to accept its writes.
  [[nodiscard]] bool active() const;
  [[nodiscard]] Epoch epoch() const { return guard_ ? guard_->epoch() : Epoch{}; }

  /// Records a heartbeat, which reaches the log with the next batch. Returns the error to answer
  /// with. Requires active().
  Status heartbeat(const NodeId& id, const membership::Generation& generation,
                   membership::NodeState reported);

  /// Sets why the term will end, if it ends cleanly: for the log of decisions.
  void resign_because(std::string why) { resigning_ = std::move(why); }
  /// The silent nodes that are not judged yet, as of the last check; without decisions.
  [[nodiscard]] membership::Verdict held() const {
    return active() ? held_ : membership::Verdict{};
  }
  /// The time for which this server may lead without another renewal.
  [[nodiscard]] Duration lease_left() const;

  /// The log has found a higher epoch than `ended`, or had to give up that term. This may come
  /// after the next term has begun, which goes on.
  void deposed(Epoch ended, const std::string& why);

  // LeaderWork
  void start(Epoch epoch, std::shared_ptr<const LeaseGuard> guard, std::function<void()> on_ready,
             std::function<void(std::string why)> on_failed) override;
  void stop(MonoTime by, std::function<void(bool receipt)> done) override;
  void deadline_moved(MonoTime deadline) override;

 private:
  void begin();
  void led(const Status& status);
  void fail(const std::string& why);
  [[nodiscard]] LoopTask batching();
  [[nodiscard]] LoopTask detection();
  void flush_later();
  /// Proposes the gathered heartbeats, then `last`; calls `done` when all of it is settled.
  void flush(std::function<void()> done, std::optional<cluster::Note> last = {});
  void note_brake(std::size_t held);
  void tick();
  void propose(const membership::Finding& finding);
  void tree_ended();
  void retire();
  void gone();

  Loop& loop_;
  ReplicatedState& replica_;
  Options options_;
  OnBegin on_begin_;
  HeartbeatBatcher batcher_;
  std::optional<membership::FailureDetector> detector_;
  std::shared_ptr<const LeaseGuard> guard_;  ///< Of the term, from start() to stop().
  std::function<void()> on_ready_;
  std::function<void(std::string)> on_failed_;
  std::function<void(bool)> on_stopped_;
  bool running_ = false;   ///< The barrier is in, and the children are up.
  bool retiring_ = false;  ///< The log settles writes in flight; a new term waits for that.
  bool waiting_ = false;   ///< A new term was requested meanwhile.
  std::string resigning_;
  membership::Verdict held_;
  Timer batch_timer_;
  Timer tick_timer_;
  Timer stop_timer_;
  Lifetime term_;  ///< Of the callbacks of one term.
  Lifetime lifetime_;
  Supervisor supervisor_;
};

}  // namespace muster::server
