#include "core/client/campaign_machine.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "core/election/lease.h"
#include "core/election/records.h"

namespace muster::client {
namespace {

constexpr std::size_t kBeatsKept = 16;

}  // namespace

Status CampaignConfig::validate() const {
  if (Status s = validate_name("name", name); !s) return s;
  if (Status s = validate_name("id", id.value()); !s) return s;
  if (value.size() > kValueBytesMax || !is_utf8(value)) {
    return {Errc::kInvalid,
            "the value must be UTF-8 of at most " + std::to_string(kValueBytesMax) + " bytes"};
  }
  if (lease < 100ms || lease > kLeaseMax) {
    return {Errc::kInvalid, "the lease must be from 100ms to 24h"};
  }
  return Done{};
}

const char* to_string(CampaignEventKind kind) {
  switch (kind) {
    case CampaignEventKind::kWaiting:
      return "waiting";
    case CampaignEventKind::kGranted:
      return "granted";
    case CampaignEventKind::kGiveUp:
      return "give_up";
    case CampaignEventKind::kLost:
      return "lost";
    case CampaignEventKind::kResigned:
      return "resigned";
    case CampaignEventKind::kTrouble:
      return "trouble";
    case CampaignEventKind::kDisconnected:
      return "disconnected";
    case CampaignEventKind::kRefused:
      return "refused";
    case CampaignEventKind::kEnded:
      return "ended";
  }
  return "unknown";
}

MonoTime CampaignMachine::work_at() const {
  if (phase_ == Phase::kOver) return close_ ? MonoTime::min() : MonoTime::max();
  MonoTime due = MonoTime::max();
  if (phase_ == Phase::kLeading || phase_ == Phase::kResigning) due = deadline_;
  if (close_) return MonoTime::min();
  // A stopped client has no use for a stream until its work has ended.
  if (!open_) return phase_ == Phase::kLost ? due : std::min(due, open_at_);
  if (resign_) return MonoTime::min();
  if (phase_ != Phase::kLost) due = std::min(due, beat_at_);
  if (unanswered_since_) due = std::min(due, *unanswered_since_ + patience());
  return due;
}

CampaignMachine::Work CampaignMachine::take_work(MonoTime now, Events& events) {
  lapse(now, events);
  Work work;
  const bool silent = unanswered_since_ && now >= *unanswered_since_ + patience();
  if (open_ && silent) abandon(now);
  work.close = std::exchange(close_, false);
  if (phase_ == Phase::kOver || phase_ == Phase::kLost) return work;
  if (!open_) {
    if (now < open_at_) return work;
    open_ = true;
    sent_.clear();
    sent_[0] = now;
    next_beat_ = 1;
    beat_at_ = now + beat_interval();
    unanswered_since_ = now;
    const bool goes_on = phase_ == Phase::kLeading || phase_ == Phase::kResigning;
    work.hello = Hello{goes_on ? std::optional(epoch_) : std::nullopt, paused_};
    if (phase_ == Phase::kResigning) resign_ = resigning_;
  } else if (now >= beat_at_ && phase_ != Phase::kResigning) {
    work.beat = next_beat_++;
    sent_[*work.beat] = now;
    if (sent_.size() > kBeatsKept) sent_.erase(sent_.begin());
    beat_at_ = now + beat_interval();
    if (!unanswered_since_) unanswered_since_ = now;
  }
  work.resign = std::exchange(resign_, {});
  if (work.resign) {
    unanswered_since_ = now;
    beat_at_ = MonoTime::max();
  }
  return work;
}

std::optional<MonoTime> CampaignMachine::until(const CampaignNews& news) const {
  const auto sent = sent_.find(news.beat);
  if (sent == sent_.end()) return {};
  // Counted from the send: others begin to count when they see what came of it, which is later.
  return sent->second + std::min(news.left, config_.lease);
}

void CampaignMachine::heard(const CampaignNews& news, MonoTime now, Events& events) {
  lapse(now, events);
  if (!open_ || phase_ == Phase::kOver) return;
  using Kind = CampaignNews::Kind;
  const bool answers =
      news.kind == Kind::kWaiting || news.kind == Kind::kGranted || news.kind == Kind::kRenewed;
  if (answers && phase_ != Phase::kResigning) {
    failures_ = 0;
    const bool last = news.beat + 1 == next_beat_;
    unanswered_since_.reset();
    if (const auto later = sent_.upper_bound(news.beat); !last && later != sent_.end()) {
      unanswered_since_ = later->second;
    }
  }
  switch (news.kind) {
    case Kind::kWaiting:
      paused_ = news.paused;
      if (phase_ != Phase::kWaiting) return;
      show(news, events);
      return;
    case Kind::kGranted: {
      if (phase_ != Phase::kWaiting) return;
      const auto end = until(news);
      // Too late to be of use: the servers are to begin anew.
      if (!end || now >= *end) return abandon(now);
      phase_ = Phase::kLeading;
      shown_.reset();
      epoch_ = news.epoch;
      deadline_ = *end;
      events.push_back({CampaignEventKind::kGranted, epoch_, {}, {}, {}, false});
      return;
    }
    case Kind::kRenewed: {
      if (phase_ == Phase::kResigning) return;
      const auto end = until(news);
      // The term ended here before the servers confirmed it: nothing is revived.
      if (phase_ != Phase::kLeading || news.epoch != epoch_ || !end) return abandon(now);
      deadline_ = std::max(deadline_, *end);
      return;
    }
    case Kind::kGiveUp:
      paused_ = news.paused;
      if (phase_ != Phase::kLeading) return;
      prefer_ = news.prefer;
      events.push_back({CampaignEventKind::kGiveUp, epoch_, {}, {}, news.reason, false});
      return;
    case Kind::kLost:
      if (phase_ == Phase::kResigning) {
        end_resigning(false, events);
        return abandon(now);
      }
      if (phase_ == Phase::kLeading) lose(news.reason, events);
      return;
    case Kind::kResigned:
      if (phase_ != Phase::kResigning) return;
      end_resigning(news.confirmed, events);
      if (phase_ == Phase::kWaiting) beat_at_ = now;
      return;
    case Kind::kTrouble:
      events.push_back({CampaignEventKind::kTrouble, {}, {}, {}, news.reason, false});
      return;
  }
}

// Every beat is answered so: only what has changed is worth an event.
void CampaignMachine::show(const CampaignNews& news, Events& events) {
  epoch_ = std::max(epoch_, news.epoch);
  if (shown_ && shown_->epoch == news.epoch && shown_->leader == news.leader &&
      shown_->value == news.value) {
    return;
  }
  shown_ = {CampaignEventKind::kWaiting, news.epoch, news.leader, news.value, {}, false};
  events.push_back(*shown_);
}

void CampaignMachine::lapse(MonoTime now, Events& events) {
  if (phase_ == Phase::kLeading && now >= deadline_) lose("expired", events);
  // The lease expires by itself.
  if (phase_ == Phase::kResigning && now >= deadline_) {
    end_resigning(false, events);
    abandon(now);
  }
}

void CampaignMachine::lose(const std::string& reason, Events& events) {
  phase_ = Phase::kLost;
  close_ = close_ || open_;
  open_ = false;
  unanswered_since_.reset();
  events.push_back({CampaignEventKind::kLost, epoch_, {}, {}, reason, false});
}

void CampaignMachine::abandon(MonoTime now) {
  close_ = close_ || open_;
  open_ = false;
  unanswered_since_.reset();
  reopen_at(now);
}

// At once the first time: a term may be running.
void CampaignMachine::reopen_at(MonoTime when) {
  const Duration most = std::min(config_.delay_max, config_.lease / 10);
  const Duration delay = std::min(config_.first_delay * (1U << std::min(failures_, 10)), most);
  if (failures_++ > 0) when += random_.between(delay / 2, delay);
  open_at_ = when;
}

void CampaignMachine::stream_ended(const std::string& reason, bool final, MonoTime now,
                                   Events& events) {
  lapse(now, events);
  if (!open_) return;
  open_ = false;
  unanswered_since_.reset();
  reopen_at(now);
  if (final) {
    if (phase_ == Phase::kLeading) lose("refused", events);
    phase_ = Phase::kOver;
    events.push_back({CampaignEventKind::kRefused, epoch_, {}, {}, reason, false});
  } else {
    events.push_back({CampaignEventKind::kDisconnected, epoch_, {}, {}, reason, false});
  }
}

void CampaignMachine::resign(std::string prefer, MonoTime now) {
  if (phase_ == Phase::kLost) return work_ended(now);
  if (phase_ != Phase::kLeading) return;
  phase_ = Phase::kResigning;
  resigning_ = {prefer.empty() ? std::exchange(prefer_, {}) : std::move(prefer), !stopping_};
  if (open_) resign_ = resigning_;
}

void CampaignMachine::work_ended(MonoTime now) {
  if (phase_ != Phase::kLost) return;
  phase_ = Phase::kWaiting;
  if (stopping_) return stop(now);
  open_at_ = now;
}

void CampaignMachine::stop(MonoTime now) {
  stopping_ = true;
  if (phase_ == Phase::kLost) phase_ = Phase::kWaiting;
  if (phase_ == Phase::kLeading) return resign({}, now);
  if (phase_ == Phase::kResigning) {
    resigning_.stay = false;
    return;
  }
  if (phase_ != Phase::kWaiting) return;
  // The server removes the worker's file; if there is no stream, it expires.
  phase_ = Phase::kResigning;
  deadline_ = now + config_.lease / 3;
  resigning_ = {{}, false};
  if (open_) {
    resign_ = resigning_;
  } else {
    deadline_ = now;
  }
}

void CampaignMachine::end_resigning(bool confirmed, Events& events) {
  const bool stays = resigning_.stay && !stopping_;
  events.push_back({CampaignEventKind::kResigned, epoch_, {}, {}, {}, confirmed});
  resign_.reset();
  unanswered_since_.reset();
  if (!stays) {
    phase_ = Phase::kOver;
    close_ = close_ || open_;
    open_ = false;
    events.push_back({CampaignEventKind::kEnded, epoch_, {}, {}, {}, false});
    return;
  }
  phase_ = Phase::kWaiting;
}

}  // namespace muster::client
