#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate_options.h"
#include "candidate/supervisor.h"
#include "cli/arbiter_options.h"
#include "cli/status_server.h"

namespace CLI {
class App;
}

namespace muster::cli {

/// Everything that `muster run` was asked to do, checked.
struct RunPlan {
  ArbiterOptions arbiter;
  CandidateOptions candidate;
  SupervisionOptions supervision;
  std::vector<ChildSpec> children;
  bool lends_terminal = false;  ///< One command, which may read what is typed.
  Duration startup_jitter_min{0};
  Duration startup_jitter_max{0};
  bool try_once = false;         ///< Another node leads: exit.
  std::optional<Duration> wait;  ///< Not acquired for this long: exit.
  bool one_term = false;         ///< Exit when the first term has ended, however it did.
  bool exit_on_loss = false;
  bool exit_on_failure = true;
  std::string on_loss_exec;
  bool json = false;
  std::optional<Address> http;
};

/// The options of `muster run` as they are given, and the way from there to a plan.
class RunOptions {
 public:
  void declare(CLI::App& app);
  [[nodiscard]] std::vector<std::string>& command_line() { return command_line_; }
  /// kInvalid when the options contradict each other, or their times are not safe: the message
  /// shows the sum. Reads the file of --commands and the COORDINATOR_… variables.
  [[nodiscard]] Result<RunPlan> plan() const;
  /// Only say what protects a command here. What else is given must be right all the same.
  [[nodiscard]] bool check() const { return check_; }
  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] bool has_command() const {
    return !command_line_.empty() || !commands_file_.empty();
  }

 private:
  void declare_timings(CLI::App& app);
  void declare_terms(CLI::App& app);
  [[nodiscard]] Result<CandidateOptions> candidate() const;
  [[nodiscard]] Status check_election() const;
  [[nodiscard]] Status add_children(RunPlan& plan) const;

  ArbiterOptions arbiter_;
  CandidateOptions given_;
  std::optional<Duration> election_interval_;
  std::optional<Duration> takeover_delay_;
  std::optional<bool> eligible_;
  Duration startup_jitter_min_{0};
  Duration startup_jitter_max_{0};
  std::vector<std::string> command_line_;
  std::string commands_file_;
  std::optional<RestartPolicy> restart_;
  std::string on_gain_;
  std::string on_loss_exec_;
  bool try_once_ = false;
  std::optional<Duration> wait_;
  bool one_term_ = false;
  bool exit_on_loss_ = false;
  bool exit_on_failure_ = true;
  bool json_ = false;
  bool check_ = false;
  std::optional<Address> http_;
};

}  // namespace muster::cli
