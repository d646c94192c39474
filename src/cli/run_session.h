#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "candidate/candidate.h"
#include "candidate/supervised_work.h"
#include "cli/hook.h"
#include "cli/lent_terminal.h"
#include "cli/run_plan.h"
#include "cli/run_report.h"
#include "cli/status_server.h"
#include "platform/event_loop.h"
#include "platform/signal_watch.h"

namespace muster::cli {

/// One `muster run`, from its start to its exit code: a candidate, the work it runs while it
/// leads, the signals that people send, and the decision when it is over. Everything happens on
/// one loop, on the thread that calls run(). Once.
class RunSession {
 public:
  RunSession(RunPlan plan, Terminal& terminal);
  ~RunSession();

  /// An error when the store's address is no good.
  [[nodiscard]] Result<int> run();

 private:
  /// Why this is over; the first reason stands.
  struct Verdict {
    int code;
    std::string why;
  };

  void on_event(const telemetry::Event& event);
  void on_term_over(const telemetry::LostLeadership& term);
  void on_trouble(const telemetry::Trouble& trouble);
  void on_ending(const TreeEnd& end);
  void on_ended(const TreeEnd& end);
  void on_key(int number, int code);
  void on_signal(int number);
  void ask_to_stop(int number, bool running);
  void on_wait_over();
  void after_term(const telemetry::LostLeadership& term);
  void run_loss_hook(const telemetry::LostLeadership& term);

  [[nodiscard]] bool shows_another(const telemetry::Event& event) const;
  void warn_of_short_wait() const;
  void reap_adopted();
  /// Opens the store and makes the candidate.
  [[nodiscard]] Status open();
  void take_part();
  [[nodiscard]] Status serve_http();
  [[nodiscard]] HttpAnswers answers() const;
  void on_closed_store(const Error& error);
  void decide(int code, std::string why);
  /// Decides, and leaves once the caller has returned.
  void end(int code, std::string why);
  void stop();
  void leave_when_done();
  [[nodiscard]] Verdict last_word() const;
  [[nodiscard]] Supervisor::Callbacks observer();

  const RunPlan plan_;
  RunReport report_;
  EventLoop loop_;
  SignalWatch signals_;
  Random random_;
  Timer start_timer_;
  Timer wait_timer_;
  Timer adopted_timer_;
  LentTerminal terminal_;
  std::unique_ptr<ObjectStore> store_;
  std::unique_ptr<SupervisedWork> work_;
  std::unique_ptr<Candidate> candidate_;
  std::atomic<const Candidate*> asked_ = nullptr;  ///< By the HTTP face, once there is one.
  HookQueue hooks_;

  std::optional<Verdict> verdict_;
  std::optional<TreeEnd> last_end_;  ///< Of the last term's work.
  std::string store_trouble_;        ///< How the store failed last; empty: it has not.
  std::optional<telemetry::LostLeadership> over_;  ///< A term whose work has not ended yet.
  MonoTime took_part_ = MonoTime::max();
  int stop_signal_ = 0;
  MonoTime stop_asked_ = MonoTime::max();  ///< When the first signal to stop came.
  bool stopped_at_work_ = false;           ///< The signal came while the command ran.
  bool acquired_ = false;                  ///< Ever.
  bool stopping_ = false;
  bool stopped_ = false;                ///< The candidate has left.
  std::unique_ptr<StatusServer> http_;  ///< Goes first: it asks the candidate.
};

}  // namespace muster::cli
