#pragma once

#include <muster/leader.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "api/connection.h"
#include "api/term.h"
#include "candidate/candidate.h"
#include "candidate/leader_work.h"

namespace muster::api {

/// What a pub::Leadership is: a candidate on the loop of its connection whose work is "a thread
/// holds a Term". Any thread, unless a function says something else.
class LeadershipCore final : public std::enable_shared_from_this<LeadershipCore>,
                             private LeaderWork {
 public:
  using Core = std::shared_ptr<LeadershipCore>;
  [[nodiscard]] static pub::Result<Core> stand(const pub::Arbiter& arbiter, const std::string& name,
                                               pub::LeaderOptions options);
  ~LeadershipCore() override;

  [[nodiscard]] pub::Term term();
  [[nodiscard]] std::optional<pub::Leader> leader();
  [[nodiscard]] pub::Result<pub::Term> wait(const std::stop_token& stop, Duration at_most);
  [[nodiscard]] pub::Status step_down(const std::string& prefer);
  [[nodiscard]] pub::Status stop();
  /// Begins to stop, and does not wait.
  void begin_stop();
  /// The handle is gone.
  void end();
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] Connection& connection() { return *connection_; }

 private:
  LeadershipCore(std::shared_ptr<Connection> connection, std::string name, std::string id,
                 pub::LeaderOptions options);
  void open(CandidateOptions candidate);
  void left();
  /// Under the mutex.
  [[nodiscard]] pub::Term take_term();

  // The candidate's work. Loop thread only.
  void start(Epoch epoch, std::shared_ptr<const LeaseGuard> guard, std::function<void()> on_ready,
             std::function<void(std::string why)> on_failed) override;
  [[nodiscard]] Duration stop_time() const override { return options_->stop_time; }
  void stop(MonoTime by, std::function<void(bool receipt)> done) override;
  void deadline_moved(MonoTime deadline) override;

  void heard(const telemetry::Event& event);
  void heard(const telemetry::Trouble& trouble);
  void tell_leader();

  const std::shared_ptr<Connection> connection_;
  const std::string name_;
  const std::shared_ptr<const pub::LeaderOptions> options_;  ///< Callbacks under way share them.
  const std::string id_;
  std::shared_ptr<const TermRules> rules_;
  Lifetime life_;                        ///< Loop thread only.
  std::shared_ptr<TermRecord> running_;  ///< Until its work has stopped. Loop thread only.
  std::optional<Participant::SeenLeader> told_leader_;  ///< Loop thread only.

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Candidate> candidate_;  ///< Made and ended on the loop; under the mutex, too.
  std::shared_ptr<TermRecord> term_;      ///< The one that work may be done in.
  std::optional<pub::Error> unfit_;       ///< The store cannot judge an election.
  bool stopping_ = false;
  bool gone_ = false;
  Core self_;  ///< Keeps a core whose handle did not wait.
};

}  // namespace muster::api
