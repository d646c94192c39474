#pragma once

#include <muster/plugins.h>

#include <memory>
#include <string>
#include <utility>

#include "api/coordinator.h"
#include "base/text.h"

namespace muster::api {

/// The program's handle of one of Muster's plugins: its coordinator has the plugin until stop() or
/// the end of the handle. Threads: any.
template <typename Plugin>
class SeatedPlugin {
 public:
  /// Without a coordinator it does no leader's part.
  SeatedPlugin(std::shared_ptr<Connection> connection, CoordinatorCore::Core coordinator,
               std::shared_ptr<Plugin> plugin)
      : connection_(std::move(connection)),
        coordinator_(std::move(coordinator)),
        plugin_(std::move(plugin)) {}
  ~SeatedPlugin() {
    // In a callback, the callback under way may return later.
    if (!connection_->in_callback()) {
      (void)stop();
    } else if (coordinator_) {
      coordinator_->unseat(plugin_);
    }
  }
  SeatedPlugin(const SeatedPlugin&) = delete;
  SeatedPlugin& operator=(const SeatedPlugin&) = delete;

  [[nodiscard]] Plugin& plugin() { return *plugin_; }
  [[nodiscard]] const Clock& clock() { return connection_->loop(); }
  [[nodiscard]] bool coordinated() const { return coordinator_ != nullptr; }
  [[nodiscard]] pub::Status stop() {
    if (connection_->in_callback()) return waits_for_callbacks("stop()");
    if (!coordinator_) return pub::Done{};
    coordinator_->unseat(plugin_);
    connection_->wait_for_callbacks();
    return pub::Done{};
  }

 private:
  const std::shared_ptr<Connection> connection_;
  const CoordinatorCore::Core coordinator_;
  const std::shared_ptr<Plugin> plugin_;
};

/// kInvalid if a time option is below `least`, or so long that sums with it would
/// overflow.
[[nodiscard]] inline pub::Status check_time(const char* option, Duration time, Duration least) {
  constexpr Duration kMost = std::chrono::hours(24 * 365);
  if (time >= least && time <= kMost) return pub::Done{};
  return {pub::Code::kInvalid, std::string(option) + " must be between " + format_duration(least) +
                                   " and " + format_duration(kMost)};
}

/// The handle of `plugin`, which `coordinator` has from now on.
template <typename Core, typename Plugin>
pub::Result<std::shared_ptr<Core>> seat_plugin(const CoordinatorCore::Core& coordinator,
                                               std::shared_ptr<Plugin> plugin) {
  if (pub::Status seated = coordinator->seat(plugin); !seated) return seated.error();
  return std::make_shared<Core>(coordinator->connection(), coordinator, std::move(plugin));
}

}  // namespace muster::api
