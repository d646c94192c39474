#include "coordinator/plugin_host.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/log.h"

namespace muster {

void PluginHost::subscribe(std::shared_ptr<CoordinatorPlugin> plugin) {
  {
    MutexLock lock(mutex_);
    if (std::find(plugins_.begin(), plugins_.end(), plugin) != plugins_.end()) return;
    plugins_.push_back(plugin);
  }
  plugin->attach(clock_, fencing_);
  callbacks_.post([self = shared_from_this(), plugin = std::move(plugin)]() mutable {
    self->seats_.push_back(std::make_unique<Seat>(std::move(plugin), self->callbacks_));
    Seat& seat = *self->seats_.back();
    if (self->epoch_ > Epoch(0)) seat.plugin->learn_epoch(self->epoch_);
    if (self->guard_) self->tell_became(seat);
  });
}

void PluginHost::unsubscribe(std::shared_ptr<CoordinatorPlugin> plugin,
                             std::function<void()> done) {
  {
    MutexLock lock(mutex_);
    if (std::erase(plugins_, plugin) > 0) drift_of_departed_ += plugin->epoch_drift_events();
  }
  callbacks_.post([self = shared_from_this(), plugin = std::move(plugin), done = std::move(done)] {
    const auto it = std::find_if(self->seats_.begin(), self->seats_.end(),
                                 [&](const auto& seat) { return seat->plugin == plugin; });
    if (it != self->seats_.end()) {
      self->tell_stopped(**it);
      self->seats_.erase(it);
    }
    if (done) done();
  });
}

void PluginHost::listen(Listener listener) {
  callbacks_.post([self = shared_from_this(), listener = std::move(listener)]() mutable {
    self->listeners_.push_back(std::move(listener));
  });
}

void PluginHost::emit(CoordinatorEvent event) {
  callbacks_.post([self = shared_from_this(), event = std::move(event)] {
    for (const Listener& listener : self->listeners_) {
      self->guarded("listener", event_name(event), [&] { listener(event); });
    }
  });
}

void PluginHost::learn_epoch(Epoch epoch) {
  callbacks_.post([self = shared_from_this(), epoch] {
    self->epoch_ = std::max(self->epoch_, epoch);
    for (const auto& seat : self->seats_) seat->plugin->learn_epoch(epoch);
  });
}

void PluginHost::begin_term(std::shared_ptr<const LeaseGuard> guard) {
  callbacks_.post([self = shared_from_this(), guard = std::move(guard)] {
    self->guard_ = guard;
    self->epoch_ = std::max(self->epoch_, guard->epoch());
    for (const auto& seat : self->seats_) {
      seat->plugin->learn_epoch(guard->epoch());
      self->tell_became(*seat);
    }
  });
}

void PluginHost::end_term(std::function<void()> done) {
  callbacks_.post([self = shared_from_this(), done = std::move(done)] {
    for (const auto& seat : self->seats_) self->tell_stopped(*seat);
    self->guard_.reset();
    if (done) done();
  });
}

void PluginHost::close(std::function<void()> done) {
  end_term([self = shared_from_this(), done = std::move(done)] {
    self->seats_.clear();
    self->listeners_.clear();
    if (done) done();
  });
}

void PluginHost::tell_became(Seat& seat) {
  // A term that ended while the queue was held up, or is about to, is not announced any more.
  if (seat.told || !guard_ || guard_->stopping()) return;
  seat.told = true;
  guarded(seat.plugin->name(), "on_become_coordinator",
          [&] { seat.plugin->on_become_coordinator(*guard_); });
  seat.work.arm(Duration(0), [this, &seat] { work(seat); });
}

void PluginHost::tell_stopped(Seat& seat) {
  seat.work.cancel();
  if (!std::exchange(seat.told, false)) return;
  guarded(seat.plugin->name(), "on_stop_being_coordinator",
          [&] { seat.plugin->on_stop_being_coordinator(); });
}

void PluginHost::work(Seat& seat) {
  if (!guard_ || guard_->stopping()) return;
  guarded(seat.plugin->name(), "coordinator_work", [&] { seat.plugin->coordinator_work(*guard_); });
  seat.work.arm(seat.plugin->work_interval(), [this, &seat] { work(seat); });
}

// Foreign code: whatever it throws stops here and is reported.
void PluginHost::guarded(const std::string& who, const std::string& what,
                         const std::function<void()>& call) {
  running_since_.store(clock_.now().time_since_epoch().count());
  std::string failure;
  try {
    call();
  } catch (const std::exception& e) {
    failure = e.what();
  } catch (...) {
    failure = "an object that is not a std::exception";
  }
  running_since_.store(0);
  if (failure.empty()) return;
  ++failures_;
  const std::string message = who + " threw in " + what + ": " + failure;
  log_error(
      "plugin failed",
      {{"namespace", name_space_}, {"epoch", std::to_string(epoch_.value())}, {"what", message}});
  if (who != "listener") {
    emit(TroubleEvent{name_space_, TroubleEvent::Kind::kPluginFailed, message});
  }
}

std::optional<Duration> PluginHost::running_for() const {
  const auto since = running_since_.load();
  if (since == 0) return {};
  return clock_.now() - MonoTime(Duration(since));
}

std::uint64_t PluginHost::epoch_drift_events() const {
  MutexLock lock(mutex_);
  std::uint64_t sum = drift_of_departed_;
  for (const auto& plugin : plugins_) sum += plugin->epoch_drift_events();
  return sum;
}

}  // namespace muster
