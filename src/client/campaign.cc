#include "client/campaign.h"

#include <algorithm>
#include <future>
#include <utility>

#include "client/campaign_session.h"
#include "platform/system_clock.h"

namespace muster::client {

/// Of the loop.
struct Campaign::State {
  Listener listener;
  std::unique_ptr<CampaignSession> session;
  std::shared_ptr<std::promise<void>> when_over;  ///< A thread waits in stop().
  bool over = false;

  void on_event(const CampaignEvent& event) {
    over = over || event.kind == CampaignEventKind::kEnded ||
           event.kind == CampaignEventKind::kRefused;
    tell_if_over();
    if (listener) listener(event);
  }
  void tell_if_over() {
    if (over && when_over != nullptr) std::exchange(when_over, nullptr)->set_value();
  }
};

Result<std::unique_ptr<Campaign>> Campaign::start(Client& client, const CampaignConfig& config,
                                                  Listener listener) {
  if (Status status = config.validate(); !status) return status.error();
  return std::unique_ptr<Campaign>(new Campaign(client, config, std::move(listener)));
}

Campaign::Campaign(Client& client, const CampaignConfig& config, Listener listener)
    : runtime_(client.runtime()), state_(std::make_unique<State>()) {
  state_->listener = std::move(listener);
  runtime_.run([&] {
    state_->session = std::make_unique<CampaignSession>(
        runtime_.caller(), config, system_random().uuid(),
        [state = state_.get()](const CampaignEvent& event) { state->on_event(event); });
  });
}

Campaign::~Campaign() {
  runtime_.run([this] { state_->session.reset(); });
}

bool Campaign::leads() const {
  bool leads = false;
  runtime_.run([&] { leads = state_->session->leads(); });
  return leads;
}

Duration Campaign::left() const {
  Duration left{0};
  runtime_.run([&] {
    const CampaignMachine& machine = state_->session->machine();
    const MonoTime now = runtime_.loop().now();
    if (machine.leads(now)) left = machine.deadline() - now;
  });
  return left;
}

Epoch Campaign::epoch() const {
  Epoch epoch;
  runtime_.run([&] { epoch = state_->session->machine().epoch(); });
  return epoch;
}

void Campaign::resign(const std::string& prefer) {
  runtime_.run([&] { state_->session->resign(prefer); });
}

void Campaign::work_ended() {
  runtime_.run([this] { state_->session->work_ended(); });
}

bool Campaign::stop(Duration limit) {
  auto over = std::make_shared<std::promise<void>>();
  std::future<void> waited = over->get_future();
  runtime_.run([&] {
    state_->when_over = over;
    state_->session->stop();
    state_->tell_if_over();
  });
  return waited.wait_for(limit) == std::future_status::ready;
}

}  // namespace muster::client
