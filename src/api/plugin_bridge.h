#pragma once

#include <muster/coordinator.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/connection.h"
#include "coordinator/plugin.h"

namespace muster::api {

/// A term as the program's plugins see it.
class TermLease final : public pub::Lease {
 public:
  TermLease(const LeaseGuard& guard, const Clock& clock) : guard_(guard), clock_(clock) {}
  [[nodiscard]] bool valid() const override { return guard_.valid(); }
  [[nodiscard]] bool stopping() const override { return guard_.stopping(); }
  [[nodiscard]] pub::Token token() const override { return guard_.epoch().value(); }
  [[nodiscard]] Duration left() const override {
    return guard_.valid() ? std::max(Duration(0), guard_.deadline() - clock_.now()) : Duration(0);
  }

 private:
  const LeaseGuard& guard_;
  const Clock& clock_;
};

/// A plugin of the program as the internal coordinator sees it.
class PluginBridge final : public CoordinatorPlugin,
                           public std::enable_shared_from_this<PluginBridge> {
 public:
  PluginBridge(std::shared_ptr<pub::CoordinatorPlugin> plugin, const Clock& clock)
      : plugin_(std::move(plugin)), clock_(clock) {}
  /// From now on the plugin uses this one.
  void connect();

  [[nodiscard]] std::string name() const override { return plugin_->name(); }
  void on_become_coordinator(const LeaseGuard& guard) override {
    lease_.emplace(guard, clock_);
    plugin_->on_become_coordinator(*lease_);
  }
  void on_stop_being_coordinator() override {
    // Whatever it throws, the lease ends here.
    const auto end = [this](void*) { lease_.reset(); };
    const std::unique_ptr<void, decltype(end)> after(this, end);
    plugin_->on_stop_being_coordinator();
  }
  void coordinator_work(const LeaseGuard&) override { plugin_->coordinator_work(*lease_); }
  [[nodiscard]] Duration work_interval() const override { return plugin_->work_interval(); }

 private:
  const std::shared_ptr<pub::CoordinatorPlugin> plugin_;
  const Clock& clock_;
  std::optional<TermLease> lease_;  ///< On the callback thread only.
};

}  // namespace muster::api
