#include "cli/run_session.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "candidate/prometheus_text.h"
#include "cli/exit_code.h"
#include "platform/control_group.h"
#include "platform/process.h"
#include "platform/system_clock.h"
#include "store/open/open.h"
#include "store/probe.h"

namespace muster::cli {
namespace {

/// Passed on to the commands, and a wish to end as well.
bool ends(int number) {
  return number == SIGTERM || number == SIGINT || number == SIGQUIT;
}

/// A program that signals a process and then its group, as timeout(1) does, means it once. Users
/// who waited long enough need longer to say so again.
constexpr Duration kOneWish = 500ms;

/// What is left of commands whose muster was killed is given so long to die…
constexpr Duration kOrphansTime = 2s;
/// …and so long with a lease in hand, which nobody renews meanwhile.
constexpr Duration kOrphansTimeLeading = 100ms;

void end_orphans(Duration limit) {
  const Status ended = end_orphaned_control_groups(limit);
  if (!ended) log_error(ended.error().message);
}

/// A store that has not answered for so long may be called silent.
constexpr Duration kAnswerSoon = 100ms;

/// A command that failed by itself is worth a line, since its code may be one of ours.
std::string own_end(const TreeEnd& tree) {
  return tree.status && !tree.status->success() ? tree.message : "";
}

}  // namespace

RunSession::RunSession(RunPlan plan, Terminal& terminal)
    : plan_(std::move(plan)),
      report_(terminal, plan_.arbiter.name_space, plan_.json),
      // Before the store's threads.
      signals_(loop_, {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT},
               [this](int number) { on_signal(number); }),
      random_(system_random()),
      start_timer_(loop_),
      wait_timer_(loop_),
      adopted_timer_(loop_),
      terminal_(loop_, [this](int number, int code) { on_key(number, code); }),
      hooks_(
          loop_, [this](const std::string& why) { report_.hook_failed(why); },
          [this] {
            work_->let_start();
            leave_when_done();
          }) {}

RunSession::~RunSession() = default;

Result<int> RunSession::run() {
  warn_of_short_wait();
  adopt_orphans();
  end_orphans(kOrphansTime);
  work_ = std::make_unique<SupervisedWork>(loop_,
                                           SupervisorOptions{.supervision = plan_.supervision,
                                                             .name = plan_.arbiter.name_space,
                                                             .node = plan_.candidate.node.value(),
                                                             .adopts_orphans = true},
                                           plan_.children, observer());
  const Status opened = open();
  if (opened.is(Errc::kInvalid)) return opened.error();
  if (Status served = serve_http(); !served) return served.error();
  if (!opened) on_closed_store(opened.error());
  if (plan_.wait) wait_timer_.arm(*plan_.wait, [this] { on_wait_over(); });
  start_timer_.arm(random_.between(plan_.startup_jitter_min, plan_.startup_jitter_max),
                   [this] { take_part(); });
  reap_adopted();
  loop_.run();
  const Verdict verdict = last_word();
  report_.exit(verdict.code, verdict.why);
  return verdict.code;
}

Status RunSession::open() {
  const ArbiterOptions& arbiter = plan_.arbiter;
  StoreOptions store_options;
  store_options.tls = {arbiter.hub.ca_file, arbiter.hub.cert_file, arbiter.hub.key_file};
  auto store = open_store(arbiter.url, loop_, store_options);
  if (!store) return store.error();
  store_ = std::move(*store);
  candidate_ = std::make_unique<Candidate>(
      arbiter.name_space, plan_.candidate,
      Candidate::Surroundings{loop_, *store_, *work_, Random(random_.next()),
                              [this](const telemetry::Event& event) { on_event(event); },
                              [this](Callback<Done> done) {
                                probe_store(*store_, loop_, random_,
                                            probe_time(plan_.candidate.request_timeout),
                                            std::move(done));
                              }});
  asked_ = candidate_.get();
  return Done{};
}

Status RunSession::serve_http() {
  if (!plan_.http) return Done{};
  auto face = StatusServer::listen(*plan_.http, answers());
  if (!face) return face.error();
  http_ = std::move(*face);
  report_.listening(http_->address());
  return Done{};
}

HttpAnswers RunSession::answers() const {
  // The deadline is taken first: when it has passed, what follows says so too.
  return {
      .leader =
          [this] {
            const Candidate* candidate = asked_;
            if (candidate == nullptr) return HttpAnswers::Leadership{};
            const Duration left = candidate->lease_left();
            return HttpAnswers::Leadership{candidate->current_leader(), candidate->epoch(), left};
          },
      .metrics =
          [this] {
            const Candidate* candidate = asked_;
            return candidate == nullptr ? std::string()
                                        : prometheus_text(plan_.arbiter.name_space, *candidate);
          }};
}

// A disk that is mounted late, for one: it is waited for like any store that does not answer.
void RunSession::on_closed_store(const Error& error) {
  if (error.message == store_trouble_) return;
  on_event({system_wall_now(), plan_.candidate.node,
            telemetry::Trouble{telemetry::Trouble::Kind::kStoreUnreachable, error.message}});
}

// As process 1 of a container this one becomes the parent of what others leave behind. It is
// little, but must not pile up.
void RunSession::reap_adopted() {
  reap_strangers();
  adopted_timer_.arm(1s, [this] { reap_adopted(); });
}

void RunSession::take_part() {
  if (plan_.try_once && !plan_.candidate.eligible) {
    return end(kNotAcquired, "this node is not eligible");
  }
  if (!candidate_) {
    if (Status opened = open(); !opened) {
      on_closed_store(opened.error());
      return start_timer_.arm(plan_.candidate.renew_interval, [this] { take_part(); });
    }
  }
  took_part_ = loop_.now();
  candidate_->start();
}

Supervisor::Callbacks RunSession::observer() {
  return {
      // It may have been killed here while this one was standing by.
      .starting = [] { end_orphans(kOrphansTimeLeading); },
      .child_started =
          [this](const std::string& child, pid_t pid) {
            report_.child_started(child, pid);
            if (plan_.lends_terminal) terminal_.command_started(pid);
          },
      .child_ended =
          [this](const std::string& child, const std::optional<ExitStatus>& status,
                 const std::string& how) {
            report_.child_ended(child, how);
            terminal_.command_ended(status);
          },
      .child_left = [this](const std::string& child, pid_t pid) { report_.child_left(child, pid); },
      .ending = [this](const TreeEnd& each) { on_ending(each); },
      .ended = [this](const TreeEnd& each) { on_ended(each); }};
}

void RunSession::on_event(const telemetry::Event& event) {
  report_.event(event);
  if (const auto* trouble = std::get_if<telemetry::Trouble>(&event.what)) on_trouble(*trouble);
  if (const auto* term = std::get_if<telemetry::LostLeadership>(&event.what)) on_term_over(*term);
  if (std::holds_alternative<telemetry::BecameLeader>(event.what)) {
    acquired_ = true;
    last_end_.reset();
    wait_timer_.cancel();
  }
  if (plan_.try_once && !acquired_ && shows_another(event)) {
    end(kNotAcquired, "another node leads " + plan_.arbiter.name_space);
  }
}

// A name in the store may be that of a leader that died: nobody is turned away by it.
bool RunSession::shows_another(const telemetry::Event& event) const {
  if (std::holds_alternative<telemetry::LeaderAlive>(event.what)) return true;
  const auto* change = std::get_if<telemetry::LeaderChanged>(&event.what);
  return change && change->previous && change->current && *change->current != event.node;
}

// The leader may have died just now: then its lease, the delay and a look are waited for.
void RunSession::warn_of_short_wait() const {
  const CandidateOptions& times = plan_.candidate;
  const Duration takeover =
      times.lease + times.takeover_delay + times.takeover_delay / 4 + times.renew_interval;
  if (!plan_.wait || *plan_.wait >= takeover) return;
  log_warn("--wait is too short to take over from a dead leader",
           {{"wait", format_duration(*plan_.wait)}, {"takeover", format_duration(takeover)}});
}

void RunSession::on_trouble(const telemetry::Trouble& trouble) {
  using Kind = telemetry::Trouble::Kind;
  if (trouble.kind == Kind::kUnsafeStore) return end(kUnsafeStore, trouble.message);
  if (trouble.kind != Kind::kStoreUnreachable) return;
  store_trouble_ = trouble.message;
  if (plan_.try_once && !acquired_) {
    end(kArbiterUnreachable, "the store does not answer: " + trouble.message);
  }
}

void RunSession::on_wait_over() {
  if (acquired_) return;
  const std::string waited = " after " + format_duration(*plan_.wait);
  // Nothing is said of a store that was hardly asked.
  const bool asked = !store_trouble_.empty() || loop_.now() - took_part_ >= kAnswerSoon;
  if (asked && !(candidate_ && candidate_->store_answers())) {
    return end(kArbiterUnreachable,
               "the store does not answer" + waited + ": " +
                   (store_trouble_.empty() ? "it has not answered yet" : store_trouble_));
  }
  end(kNotAcquired, "not leading " + plan_.arbiter.name_space + waited);
}

// What the supervisor ends by itself. A lease that was not renewed is for on_term_over().
void RunSession::on_ending(const TreeEnd& tree) {
  switch (tree.cause) {
    case EndCause::kRequested:
    case EndCause::kDeadline:
      return;
    case EndCause::kFinished:
      // Leaving now: the candidate's term ends because it was stopped, not because work failed.
      decide(tree.status ? tree.status->shell_code() : kDone, own_end(tree));
      return stop();
    case EndCause::kStartFailed:
    case EndCause::kRestartsExhausted:
      if (!plan_.exit_on_failure) return;
      // The candidate is told next, so that the term's end has its reason; then it may leave.
      return end(kSupervisionFailed, std::string(to_string(tree.cause)) + ": " + tree.message);
    case EndCause::kLost:
      return;  // Only once nothing of it is left: until then this node must not be started anew.
  }
}

void RunSession::on_ended(const TreeEnd& tree) {
  last_end_ = tree;
  if (tree.cause == EndCause::kLost || !tree.receipt) {
    const std::string why = tree.receipt ? tree.message : tree.receipt.error().message;
    end(kSupervisionFailed, why);
  }
  if (over_) after_term(*std::exchange(over_, std::nullopt));
}

void RunSession::on_term_over(const telemetry::LostLeadership& term) {
  if (work_->running()) {
    over_ = term;
  } else {
    after_term(term);
  }
  const std::string what = "the lease of " + plan_.arbiter.name_space;
  switch (term.reason) {
    case EndReason::kStopped:
    case EndReason::kStartFailed:
    case EndReason::kWorkFailed:
      return;
    case EndReason::kSteppedDown:
    case EndReason::kPaused:
    case EndReason::kIneligible:
      if (plan_.one_term) end(kLost, what + " was handed over");
      return;
    case EndReason::kExpired:
    case EndReason::kReplaced:
    case EndReason::kStateLost:
      if (plan_.exit_on_loss) end(kLost, what + " was lost (" + to_string(term.reason) + ")");
      return;
  }
}

// A term is over, and so is its work.
void RunSession::after_term(const telemetry::LostLeadership& term) {
  run_loss_hook(term);
  const bool failed =
      term.reason == EndReason::kStartFailed || term.reason == EndReason::kWorkFailed;
  // Whatever has been decided before stands; but no second term follows.
  if (failed && plan_.one_term) end(kSupervisionFailed, term.detail);
}

void RunSession::run_loss_hook(const telemetry::LostLeadership& term) {
  if (plan_.on_loss_exec.empty()) return;
  std::vector<std::string> variables = environment();
  set_variable(variables, "MUSTER_EPOCH", std::to_string(term.epoch.value()));
  set_variable(variables, "MUSTER_NAME", plan_.arbiter.name_space);
  set_variable(variables, "MUSTER_NODE", plan_.candidate.node.value());
  set_variable(variables, "MUSTER_REASON", to_string(term.reason));
  // What the next term starts must not overtake it: it may undo what this one does.
  work_->hold_start();
  hooks_.add("on-loss-exec", plan_.on_loss_exec, term.epoch, std::move(variables));
}

// A command that was ended by a key is not started again.
void RunSession::on_key(int number, int code) {
  decide(code, "");
  ask_to_stop(number, work_->running());
}

void RunSession::on_signal(int number) {
  if (number == SIGCONT) return terminal_.look();
  const bool running = work_->running();
  // The stop that follows sends TERM itself, to one command after the other, the last one first.
  const bool in_order = number == SIGTERM || (ends(number) && !plan_.lends_terminal);
  if (running && !in_order) work_->forward_signal(number);
  if (!ends(number) && (number != SIGHUP || running)) return;
  ask_to_stop(number, running);
}

void RunSession::ask_to_stop(int number, bool running) {
  const MonoTime now = loop_.now();
  if (std::exchange(stop_signal_, number) != 0 && running) {
    // The second time, for people who have waited long enough.
    if (now - stop_asked_ >= kOneWish) work_->kill();
    return;
  }
  stop_asked_ = std::min(stop_asked_, now);
  stopped_at_work_ = stopped_at_work_ || running;
  stop();
}

void RunSession::decide(int code, std::string why) {
  if (!verdict_) verdict_ = Verdict{code, std::move(why)};
}

void RunSession::end(int code, std::string why) {
  decide(code, std::move(why));
  loop_.post([this] { stop(); });
}

void RunSession::stop() {
  if (std::exchange(stopping_, true)) return;
  start_timer_.cancel();
  wait_timer_.cancel();
  if (!candidate_) {
    stopped_ = true;
    return leave_when_done();
  }
  candidate_->stop([this] {
    stopped_ = true;
    leave_when_done();
  });
}

// Hooks are waited for, as long as one may take.
void RunSession::leave_when_done() {
  if (stopped_ && hooks_.idle()) loop_.stop();
}

RunSession::Verdict RunSession::last_word() const {
  Verdict verdict = verdict_.value_or(Verdict{128 + stop_signal_, ""});
  const bool unproven = last_end_ ? !last_end_->receipt.ok() : work_->running();
  if (unproven && verdict.code != kSupervisionFailed) {
    return {kSupervisionFailed,
            "the command could not be ended; its lease expires instead of "
            "being released"};
  }
  if (verdict_) return verdict;
  // Stopped by a signal: the command's own end, if one ran.
  if (stopped_at_work_ && last_end_ && last_end_->status) {
    return {last_end_->status->shell_code(), own_end(*last_end_)};
  }
  verdict.why = "stopped by " + signal_name(stop_signal_) +
                (stopped_at_work_ ? "" : " while waiting to lead " + plan_.arbiter.name_space);
  return verdict;
}

}  // namespace muster::cli
