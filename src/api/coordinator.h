#pragma once

#include <muster/coordinator.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "api/connection.h"
#include "api/plugin_bridge.h"
#include "coordinator/namespace_coordinator.h"

namespace muster::api {

[[nodiscard]] pub::Error coordinator_moved_from();

/// The implementation of a pub::GlobalCoordinator. Threads: any, unless a function says otherwise.
class CoordinatorCore : public std::enable_shared_from_this<CoordinatorCore> {
 public:
  using Core = std::shared_ptr<CoordinatorCore>;
  CoordinatorCore(std::shared_ptr<Connection> connection, std::string name)
      : connection_(std::move(connection)), name_(std::move(name)) {}

  [[nodiscard]] static pub::Result<Core> start(const pub::Arbiter& arbiter, const std::string& name,
                                               pub::CoordinatorOptions options);
  /// None of a coordinator that was moved from.
  [[nodiscard]] static const Core& of(const pub::GlobalCoordinator& coordinator) {
    return coordinator.core_;
  }
  [[nodiscard]] const std::shared_ptr<Connection>& connection() const { return connection_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] pub::Status stop();
  void end();

  /// Calls `ask` with the coordinator, unless it has ended.
  template <typename T, typename Ask>
  T with(T otherwise, Ask ask) {
    const std::lock_guard lock(mutex_);
    return core_ ? ask(*core_) : otherwise;
  }
  /// Runs `task` with the coordinator on the loop, later.
  template <typename Task>
  pub::Status later(Task task) {
    const std::lock_guard lock(mutex_);
    if (!core_ || stopping_) return coordinator_moved_from();
    // Before a stop that is asked for later.
    connection_->loop().post([core = core_.get(), task] { task(*core); });
    return pub::Done{};
  }

  [[nodiscard]] pub::Status subscribe(std::shared_ptr<pub::CoordinatorPlugin> plugin);
  [[nodiscard]] pub::Status unsubscribe(const std::shared_ptr<pub::CoordinatorPlugin>& plugin);
  /// For Muster's own plugins.
  [[nodiscard]] pub::Status seat(std::shared_ptr<CoordinatorPlugin> plugin);
  /// Returns before the plugin was told. A second call has no effect.
  void unseat(std::shared_ptr<CoordinatorPlugin> plugin);

 private:
  void begin_stop();
  void close();

  const std::shared_ptr<Connection> connection_;
  const std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<NamespaceCoordinator>
      core_;  ///< Made and ended on the loop; under the mutex, too.
  std::map<const pub::CoordinatorPlugin*, std::shared_ptr<PluginBridge>> bridges_;
  bool stopping_ = false;
  bool gone_ = false;
  Core self_;  ///< Keeps a core whose handle did not wait.
};

}  // namespace muster::api
