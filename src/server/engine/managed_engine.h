#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/result.h"
#include "core/engine/etcd_words.h"
#include "core/engine/members.h"
#include "platform/event_loop.h"
#include "server/engine/data_directory.h"
#include "server/engine/engine_options.h"
#include "server/engine/etcd_child.h"
#include "server/engine/peer_views.h"
#include "server/engine/program_output.h"
#include "server/engine/start_search.h"
#include "server/engine/upkeep_cycle.h"

namespace muster {

/// The health of a managed engine, in a word and in a sentence.
struct EngineHealth {
  enum class State {
    kStopped,
    kStarting,    ///< Waits for peers, admission, data or a leader; `words` says for which.
    kServing,     ///< Takes writes.
    kNoLeader,    ///< Runs, but too few members reach each other.
    kFull,        ///< Takes no writes: the quota or the disk is used up.
    kCorrupt,     ///< The members' data differ; an operator must act.
    kRestarting,  ///< Its process ended and will be started again.
    kEnded,       ///< It has given up; `words` says why.
  };
  State state = State::kStopped;
  std::string words;
  std::string version;  ///< Of etcd; empty until it has answered.
  std::uint64_t member_id = 0;
  std::string leader;  ///< The name of the member that leads; empty while none is known.
  std::uint64_t file_bytes = 0;
};
[[nodiscard]] const char* to_string(EngineHealth::State state);

/// Runs one member of an etcd cluster that belongs to musterd alone: decides whether to found, join
/// or re-enter the cluster, keeps the process alive, and maintains it.
///
/// Guarantees: no etcd outlives this object by more than a moment, also if the process is killed. A
/// member without data takes part in no vote before the others, or their presence without data,
/// have shown that it never voted before. A live member is never replaced. Not guaranteed: that
/// writes succeed while fewer than a majority of members run.
///
/// Threads: the loop thread, which must outlive this object, because etcd's guardian dies with it.
class ManagedEngine {
 public:
  using Ready = std::function<void(Result<std::string>)>;
  using Ended = std::function<void(Error)>;

  ManagedEngine(EventLoop& loop, engine::EngineOptions options);
  ~ManagedEngine();
  ManagedEngine(const ManagedEngine&) = delete;
  ManagedEngine& operator=(const ManagedEngine&) = delete;

  /// Call once. `ready` is called once: with the address for open_store() when the member first
  /// accepts writes, or with the reason why it never will; then nothing runs. `ended` is called at
  /// most once, later, when a restart would not help. Both may destroy this.
  void start(Ready ready, Ended ended);
  /// Ends etcd cleanly; calls `done` when no process is left. No `ready` or `ended` comes then.
  void stop(std::function<void()> done);

  [[nodiscard]] const EngineHealth& health() const { return health_; }
  /// Why it does not serve, and what to do: for example the missing quorum.
  [[nodiscard]] const std::string& trouble() const;

  /// Only while it serves; kUnavailable otherwise.
  void members(Callback<engine::Members> done);
  /// Another server asks to become a member; see Admissions.
  void admit(engine::Admission request, Callback<engine::Members> done);
  void remove_member(const std::string& name, Callback<Done> done);

 private:
  using State = EngineHealth::State;

  void on_start_limit();
  void check_version();
  void find_start();
  void await_release(const engine::StartPlan& plan, MonoTime limit);
  void launch(const engine::StartPlan& plan);
  void await_service();
  void on_vitals(const Result<engine::Vitals>& vitals);
  void count_quorum();
  void serve();
  void on_look(const Result<engine::UpkeepCycle::Finding>& finding);
  void on_child_ended(const engine::Diagnosis& diagnosis);
  void restart_later(const std::string& why);
  void give_up(Error error);
  void halt();
  void enter(State state, std::string words);
  [[nodiscard]] Status serving() const;

  EventLoop& loop_;
  const engine::EngineOptions options_;
  EngineHealth health_;
  Ready ready_;
  Ended ended_;
  std::function<void()> stopped_;
  bool stopping_ = false;
  std::string trouble_;                        ///< Why etcd ended the last time.
  std::map<std::string, std::string> voters_;  ///< Their peer addresses by name, as far as known.
  bool counting_ = false;                      ///< Who of them is up is being asked.
  MonoTime counted_{};
  std::string quorum_;  ///< What came of it; empty while the engine serves.
  Duration backoff_{0};
  MonoTime serving_since_{};
  Timer start_limit_;
  Timer timer_;
  engine::PeerViews views_;
  struct Service;  ///< What talks to the member; made once its socket can be named.
  std::unique_ptr<Service> service_;
  std::unique_ptr<engine::DataDirectory> directory_;
  std::unique_ptr<engine::ProgramOutput> version_;
  std::unique_ptr<engine::StartSearch> search_;
  std::unique_ptr<engine::EtcdChild> child_;
  Lifetime lifetime_;
};

}  // namespace muster
