// A client that leads by RPC.

#include <utility>

#include "base/log.h"
#include "tests/sim/cluster/hosts.h"

namespace muster::sim {

void CampaignHost::begin() {
  ClientHost::begin();
  timer_ = std::make_unique<Timer>(*process_);
  client::CampaignConfig config;
  config.name = kSingleton;
  config.id = WorkerId(name_);
  config.value = name_;
  config.lease = kSingletonLease;
  process_->post([this, config, session = random().uuid()] {
    session_ = std::make_unique<client::CampaignSession>(
        *caller_, config, session, [this](const client::CampaignEvent& event) { heard(event); });
  });
}

void CampaignHost::end() {
  session_.reset();
  timer_.reset();
  ClientHost::end();
}

void CampaignHost::later(Duration most, std::function<void()> then) {
  timer_->arm(setting_.world.random().between(0s, most), std::move(then));
}

void CampaignHost::heard(const client::CampaignEvent& event) {
  log_info("campaign", {{"host", name_},
                        {"event", to_string(event.kind)},
                        {"epoch", std::to_string(event.epoch.value())},
                        {"leader", event.leader},
                        {"reason", event.reason}});
  switch (event.kind) {
    case client::CampaignEventKind::kGranted:
      return later(20s, [this] {
        if (!settled_) session_->resign({});
      });
    case client::CampaignEventKind::kGiveUp:
      return later(700ms, [this] { session_->resign({}); });
    case client::CampaignEventKind::kLost:
      return later(700ms, [this] { session_->work_ended(); });
    case client::CampaignEventKind::kResigned:
      if (event.confirmed) setting_.invariants.release_confirmed(name_, event.epoch);
      return;
    case client::CampaignEventKind::kRefused:
      return setting_.invariants.violate(name_ + " may not campaign: " + event.reason);
    default:
      return;
  }
}

void CampaignHost::look() {
  const bool leads = this->leads();
  const Epoch epoch = leads ? session_->machine().epoch() : Epoch();
  if (work_ && (!leads || work_->epoch != epoch)) {
    setting_.journal.close(work_->interval, setting_.world.now());
    setting_.invariants.believes_no_more(name_);
    work_.reset();
  }
  if (!leads) return;
  if (!work_) {
    work_ = Work{setting_.journal.open(name_, epoch, setting_.world.now()), epoch, {}};
  }
  if (work_->deadline == session_->machine().deadline()) return;
  work_->deadline = session_->machine().deadline();
  const Duration left = scale(work_->deadline - process_->now(), 1 / rate());
  setting_.invariants.believes(name_, epoch, setting_.world.now() + left);
  // It is looked at when its belief ends, whatever else happens then.
  setting_.world.after(left + 1us, [] {});
}

}  // namespace muster::sim
