#include "server/api/election_session.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "core/election/lease.h"
#include "server/rpc/message.h"

namespace muster::server {
namespace {

constexpr Duration kCampaignLeaseMin = 100ms;
/// Messages that a client has not taken: it reads nothing.
constexpr std::size_t kUnsentMax = 64;

Participant::Options options_of(const CampaignTerms& terms) {
  const Duration interval = terms.lease / 5;
  const LeaseTimings timings = LeaseTimings::for_lease(terms.lease, interval);
  Participant::Options options;
  options.name = terms.name;
  options.id = terms.id;
  options.value = terms.value;
  options.aside = terms.paused ? "paused" : "";
  options.terms = timings.terms;
  options.request_timeout = timings.request_timeout;
  options.heartbeat_interval = interval;
  options.heartbeat_jitter = interval / 5;
  options.worker_timeout =
      std::max(terms.lease * 4 / 3,
               worker_timeout_min(interval, options.heartbeat_jitter, options.request_timeout));
  options.list_interval = scale(options.worker_timeout, 0.45);
  options.list_shows_commands = true;
  options.renews_when_told = true;
  options.incarnation = terms.session;
  options.resumed = terms.resumed;
  return options;
}

Error wrong(const std::string& field, const std::string& rule) {
  return {Errc::kInvalid, field + " " + rule};
}

std::uint64_t whole_ms(Duration d) {
  return static_cast<std::uint64_t>(to_ms(d));
}

bool same(const v1::CampaignWaiting& a, const v1::CampaignWaiting& b) {
  return a.leader() == b.leader() && a.value() == b.value() && a.epoch() == b.epoch() &&
         a.paused() == b.paused();
}

/// Of these only the last one matters.
bool replaces(const v1::CampaignResponse& later, const v1::CampaignResponse& earlier) {
  return later.kind_case() == earlier.kind_case() && (later.has_renewed() || later.has_waiting());
}

}  // namespace

Result<CampaignTerms> CampaignTerms::from(const v1::CampaignHello& hello) {
  for (const auto& [what, text] : {std::pair{"name", &hello.name()}, std::pair{"id", &hello.id()},
                                   std::pair{"session", &hello.session()}}) {
    if (Status s = validate_name(what, *text); !s) return s.error();
  }
  if (hello.value().size() > kValueBytesMax || !is_utf8(hello.value())) {
    return wrong("value", "must be UTF-8 of at most " + std::to_string(kValueBytesMax) + " bytes");
  }
  const Duration lease = std::chrono::milliseconds(hello.lease_ms());
  if (lease < kCampaignLeaseMin || lease > kLeaseMax) {
    return wrong("lease_ms", "must be from 100 to " + std::to_string(to_ms(Duration(kLeaseMax))));
  }
  if (hello.priority() != 0) return wrong("priority", "must be 0: this server has no priorities");
  if (Epoch(hello.resume_epoch()) > kEpochMax) return wrong("resume_epoch", "is no epoch");
  if (!hello.prefix().empty()) {
    if (Status s = cluster::validate_key(hello.prefix()); !s) {
      return wrong("prefix", "must be the beginning of a key: " + s.error().message);
    }
  }
  CampaignTerms terms{
      hello.name(),   WorkerId(hello.id()), Incarnation(hello.session()), hello.value(), lease, {},
      hello.prefix(), hello.paused()};
  if (hello.resume_epoch() != 0) terms.resumed = Epoch(hello.resume_epoch());
  return terms;
}

std::string CampaignTerms::key() const {
  return prefix + " " + name + " " + id.value() + " " + session.value();
}

ElectionSession::ElectionSession(CampaignTerms terms, Deps deps)
    : terms_(std::move(terms)),
      held_(LeaseTerms{terms_.lease}.held()),
      cluster_(deps.cluster),
      loop_(deps.cluster.loop()),
      call_(std::move(deps.call)),
      note_(std::move(deps.note)),
      led_(std::move(deps.led)),
      over_(std::move(deps.over)),
      store_(deps.cluster, terms_.prefix),
      participant_(options_of(terms_),
                   {.loop = loop_, .store = store_, .random = deps.random, .probe = {}}, *this),
      silence_(loop_),
      release_(loop_) {}

void ElectionSession::start() {
  call_->on_over(lifetime_.wrap([this] { gone(); }));
  if (terms_.paused) participant_.set_eligible(false);
  // The hello is beat 0. A term that goes on is renewed before anything else.
  participant_.told(0);
  participant_.start(Duration(0));
  watch_silence();
  read();
}

// A client that is silent has no part: its worker's file would say that it is alive.
void ElectionSession::watch_silence() {
  silence_.arm(terms_.lease, [this] {
    finish({rpc::Code::kUnavailable, "no beat came for a whole lease; open another stream", {}});
  });
}

void ElectionSession::read() {
  call_->read(lifetime_.wrap([this](const std::optional<std::string>& message) {
    if (ended_ || status_) return;
    // A client that says no more can neither beat nor resign.
    if (!message) return finish({});
    v1::CampaignRequest request;
    if (!request.ParseFromString(*message)) {
      return finish({rpc::Code::kInvalidArgument, "the message is not a CampaignRequest", {}});
    }
    heard(request);
    if (!ended_ && !status_) read();
  }));
}

void ElectionSession::heard(const v1::CampaignRequest& request) {
  if (request.has_beat()) return beat(request.beat().number());
  if (request.has_resign()) return resign(request.resign());
  finish({rpc::Code::kInvalidArgument,
          "kind must be beat or resign in every message but the first",
          {}});
}

void ElectionSession::beat(std::uint64_t number) {
  if (number <= last_beat_) {
    return finish({rpc::Code::kInvalidArgument,
                   "beat.number must rise: " + std::to_string(number) + " follows " +
                       std::to_string(last_beat_),
                   {}});
  }
  last_beat_ = number;
  watch_silence();
  if (Status s = cluster_.access().check_write(call_); !s) return trouble(s.error().message);
  if (gave_up_at_ && loop_.now() >= *gave_up_at_ + terms_.lease) return;
  participant_.told(number);
  if (shown_) show_leader(/*answer=*/true);
}

void ElectionSession::resign(const v1::CampaignResign& request) {
  if (!request.prefer().empty()) {
    if (Status s = validate_name("resign.prefer", request.prefer()); !s) {
      return finish(rpc::to_status(s.error()));
    }
    preferred_ = WorkerId(request.prefer());
  }
  if (resigning_) return;
  resigning_ = request;
  if (!request.stay()) participant_.retire();
  Participant::Options timings = options_of(terms_);
  const Duration hold_off =
      hold_off_after_step_down(terms_.lease, timings.heartbeat_interval + timings.heartbeat_jitter);
  if (terms_.paused) participant_.set_eligible(false);
  participant_.resign({.stop = !request.stay(),
                       .hold_off = hold_off,
                       .preferred = std::exchange(preferred_, {}),
                       .without_receipt = false});
}

void ElectionSession::on(const ElectionEvent& event) {
  if (const auto* began = std::get_if<BecameLeader>(&event)) {
    terms_.resumed.reset();
    gave_up_at_.reset();
    shown_.reset();
    v1::CampaignResponse response;
    if (began->resumed) {
      response.mutable_renewed()->set_epoch(began->epoch.value());
      response.mutable_renewed()->set_beat(began->beat);
      response.mutable_renewed()->set_left_ms(whole_ms(held_));
    } else {
      response.mutable_granted()->set_epoch(began->epoch.value());
      response.mutable_granted()->set_beat(began->beat);
      response.mutable_granted()->set_left_ms(whole_ms(held_));
    }
    send(std::move(response));
    led_(began->resumed);
    note_((began->resumed ? "term goes on here, epoch " : "term begins, epoch ") +
          std::to_string(began->epoch.value()));
  } else if (const auto* renewed = std::get_if<LeaseRenewed>(&event)) {
    trouble_.clear();
    v1::CampaignResponse response;
    response.mutable_renewed()->set_epoch(renewed->epoch.value());
    response.mutable_renewed()->set_beat(renewed->beat);
    response.mutable_renewed()->set_left_ms(whole_ms(held_));
    send(std::move(response));
  } else if (const auto* loss = std::get_if<LostLeadership>(&event)) {
    lost(*loss);
  } else if (std::holds_alternative<LeaderChanged>(event)) {
    show_leader();
  } else if (const auto* ended = std::get_if<Resigned>(&event)) {
    resigned(ended->released);
  } else if (const auto* damage = std::get_if<StateTrouble>(&event)) {
    trouble(damage->problem);
  } else if (const auto* failed = std::get_if<StoreTrouble>(&event)) {
    store_failed(failed->error);
  } else if (const auto* twin = std::get_if<DuplicateWorker>(&event)) {
    trouble("another process takes part as " + terms_.id.value() + " (session " +
            twin->other.value() + "); give every process its own id");
  }
}

void ElectionSession::lost(const LostLeadership& loss) {
  if (loss.reason == LossReason::kReleased) return;  // Resigned follows.
  v1::CampaignResponse response;
  response.mutable_lost()->set_reason(to_string(loss.reason));
  response.mutable_lost()->set_epoch(loss.epoch.value());
  send(std::move(response));
  note_("term lost, epoch " + std::to_string(loss.epoch.value()) + ": " + to_string(loss.reason));
  finish({});
}

void ElectionSession::resigned(bool confirmed) {
  const bool stays = resigning_ && resigning_->stay();
  v1::CampaignResponse response;
  response.mutable_resigned()->set_confirmed(confirmed);
  send(std::move(response));
  if (confirmed) note_("term released");
  if (stays) {
    resigning_.reset();
    if (ended_) return over_();
    gave_up_at_.reset();
    return show_leader();
  }
  participant_.leave(lifetime_.wrap([this] { left(); }));
}

void ElectionSession::left() {
  resigning_.reset();
  if (ended_) return over_();
  finish({});
}

void ElectionSession::on_beat(MonoTime, bool failed) {
  if (!failed) trouble_.clear();
  participant_.publish();
  show_leader();
}

// A command is for one term; only a paused worker may be told to resume.
bool ElectionSession::is_for_me(const ControlCommand& command) const {
  if (command.kind == ControlKind::kResume) {
    return terms_.paused && (!command.worker || command.worker == terms_.id);
  }
  const auto epoch = participant_.election().term_epoch();
  return participant_.leads_now() && !resigning_ && epoch == command.epoch;
}

void ElectionSession::obey(const ControlCommand& command) {
  note_(std::string("obeys the command ") + to_string(command.kind));
  if (command.kind != ControlKind::kResume) return give_up(command);
  terms_.paused = false;
  participant_.stand_aside("");
  participant_.set_eligible(true);
  show_leader();
}

void ElectionSession::give_up(const ControlCommand& command) {
  if (!gave_up_at_) gave_up_at_ = loop_.now();
  if (command.worker) preferred_ = command.worker;
  if (command.kind == ControlKind::kPause) {
    terms_.paused = true;
    participant_.stand_aside("paused");
  }
  v1::CampaignResponse response;
  response.mutable_give_up()->set_reason(to_string(command.kind));
  if (command.worker) response.mutable_give_up()->set_prefer(command.worker->value());
  response.mutable_give_up()->set_paused(terms_.paused);
  send(std::move(response));
}

void ElectionSession::trouble(const std::string& why) {
  if (ended_ || std::exchange(trouble_, why) == why) return;
  v1::CampaignResponse response;
  response.mutable_trouble()->set_reason(why);
  send(std::move(response));
}

void ElectionSession::store_failed(const Error& error) {
  if (error.code == Errc::kConflict) return;  // Losing a race is no trouble.
  participant_.note_failure(error, {{"election", terms_.name}, {"worker", terms_.id.value()}});
  trouble(error.message);
}

void ElectionSession::show_leader(bool answer) {
  const Election& election = participant_.election();
  if (election.leads(loop_.now()) || terms_.resumed || resigning_) return;
  v1::CampaignWaiting waiting;
  const std::optional<WorkerId> leader = election.leader(loop_.now());
  if (leader) {
    waiting.set_leader(leader->value());
    waiting.set_value(election.last_state()->value);
  }
  waiting.set_epoch(election.epoch().value());
  waiting.set_paused(terms_.paused);
  waiting.set_beat(last_beat_);
  if (shown_ && same(*shown_, waiting) && !answer) return;
  shown_ = waiting;
  v1::CampaignResponse response;
  *response.mutable_waiting() = std::move(waiting);
  send(std::move(response));
}

void ElectionSession::send(v1::CampaignResponse response) {
  if (ended_ || status_) return;
  if (!unsent_.empty() && replaces(response, unsent_.back())) unsent_.pop_back();
  unsent_.push_back(std::move(response));
  if (unsent_.size() > kUnsentMax) {
    unsent_.clear();
    return call_->cut();
  }
  write();
}

void ElectionSession::write() {
  if (writing_ || ended_) return;
  if (unsent_.empty()) {
    if (status_) call_->finish(*status_);
    return;
  }
  const rpc::Payload message = rpc::to_payload(unsent_.front());
  unsent_.pop_front();
  writing_ = true;
  call_->write(message, lifetime_.wrap([this] {
    writing_ = false;
    write();
  }));
}

void ElectionSession::finish(rpc::RpcStatus status) {
  if (ended_ || status_) return;
  silence_.cancel();
  status_ = std::move(status);
  // What it would acquire until the client has gone would be of use to nobody.
  participant_.set_eligible(false);
  write();
}

void ElectionSession::end(rpc::RpcStatus status) {
  unsent_.clear();
  writing_ = false;
  finish(std::move(status));
}

// The work has ended if the client said so before it went: its release is worth a little time.
void ElectionSession::gone() {
  if (std::exchange(ended_, true)) return;
  silence_.cancel();
  if (!resigning_) return over_();
  participant_.set_eligible(false);
  release_.arm(terms_.lease, [this] { over_(); });
}

}  // namespace muster::server
