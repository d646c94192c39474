#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/random.h"
#include "core/cluster/cluster_state.h"
#include "log/replicated_log.h"
#include "store/store.h"

namespace muster::server {

/// The incarnation under which one run of a server leads the log; it contains the server's id.
[[nodiscard]] Incarnation log_incarnation(const std::string& server, const std::string& run);
/// The server that runs under `incarnation`.
[[nodiscard]] std::string server_of(const Incarnation& incarnation);

/// This server's copy of the state that all servers share, and the way to change it.
///
/// Guarantees: a success of propose() is applied here and will be everywhere; any error but
/// kAmbiguous means that nothing changed and never will. After barrier() the copy holds everything
/// that was acknowledged anywhere before the call. Threads: loop thread only.
class ReplicatedState final : public rlog::StateMachine {
 public:
  struct Surroundings {
    Loop& loop;
    ObjectStore& store;
    Random random;
  };
  struct Listener {
    /// After each entry: what it changed in the topology. The versioned store keeps its own
    /// history.
    std::function<void(const std::vector<membership::Event>&)> applied;
    /// The whole state was replaced; called before any other code can read it.
    std::function<void()> reloaded;
    /// The log has ended this term of this server.
    std::function<void(Epoch ended, const std::string& why)> deposed;
    /// Whether the other servers support a command that is proposed here; empty: they do.
    std::function<Status(const cluster::Command&)> may_propose{};
    /// A proposal has been answered, after so long; whether it was applied.
    std::function<void(Duration took, bool applied)> settled{};
    /// The log continues elsewhere: this replica applies nothing more.
    std::function<void(const rlog::Seal&)> sealed{};
    /// This replica has stopped; an operator must act.
    std::function<void(const Error&)> stopped;
  };

  ReplicatedState(const rlog::Options& options, Surroundings surroundings, Listener listener);
  ~ReplicatedState() override;

  void open(Callback<Done> done) { log_.open(std::move(done)); }
  void lead(Epoch epoch, Incarnation incarnation, Callback<Done> done);
  void retire(Callback<Done> done) { log_.retire(std::move(done)); }
  /// Ends the log here and the term with it; only the leader's succeeds.
  void seal(rlog::Seal seal, Callback<rlog::Index> done) {
    log_.seal(std::move(seal), std::move(done));
  }

  /// Only the leader's succeeds. Errors: the state's answer (kNotFound, kConflict, …);
  /// kUnsupported, until every server supports it; kUnavailable, certainly not done; kAmbiguous,
  /// perhaps done.
  void propose(const cluster::Command& command, Callback<cluster::Answer> done);
  void barrier(Callback<Done> done);

  [[nodiscard]] const cluster::ClusterState& state() const { return state_; }
  [[nodiscard]] const rlog::ReplicatedLog& log() const { return log_; }
  /// How long the engine has owed the log an answer; zero while it owes none. Not the age: a server
  /// without writes asks only now and then.
  [[nodiscard]] Duration engine_silence() const {
    const auto since = log_.unanswered_since();
    return since ? loop_.now() - *since : Duration(0);
  }
  /// The maximum age of this server's answers.
  [[nodiscard]] Duration age() const { return loop_.now() - log_.last_contact(); }

  /// Log time as it is now, if there has been a leader since the last entry; the basis of ages.
  [[nodiscard]] membership::LogTime log_now() const {
    return state_.topology().log_time() +
           std::chrono::duration_cast<std::chrono::milliseconds>(loop_.now() - passed_at_);
  }

  // rlog::StateMachine
  Status apply(const rlog::AcceptedEntry& entry) override;
  std::unique_ptr<rlog::SnapshotReader> snapshot() override;
  std::unique_ptr<rlog::SnapshotLoader> load() override;

 private:
  class Loader;

  void on(const rlog::Event& event);
  void acknowledge(const Result<rlog::Ack>& ack, const Callback<cluster::Answer>& done);

  Loop& loop_;
  Listener listener_;
  cluster::ClusterState state_;
  MonoTime passed_at_;  ///< When the state learned its log time.
  /// To the commands of the entry applied last, which is the one being acknowledged.
  std::vector<Result<cluster::Answer>> answers_;
  rlog::Index answered_;
  rlog::ReplicatedLog log_;
};

}  // namespace muster::server
