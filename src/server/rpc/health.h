#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "rpc/call.h"

namespace muster::rpc {

/// grpc.health.v1: whether the server as a whole, and each of its services, may be sent requests;
/// they share one answer. gRPC has a service for it, too, which brings threads of its own that
/// compete for the server's I/O. Loop thread only.
class Health {
 public:
  /// `services` are the full names that may be asked about.
  explicit Health(std::vector<std::string> services) : services_(std::move(services)) {}
  ~Health();
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  void set_serving(bool serving);
  /// Handles the call if it is about health; otherwise false.
  bool answers(const CallPtr& call);

 private:
  struct Watcher;
  using Shared = std::shared_ptr<Watcher>;

  [[nodiscard]] bool knows(const std::string& service) const;
  void check(const CallPtr& call);
  void watch(const CallPtr& call);
  void pump(const Shared& watcher);

  std::vector<std::string> services_;
  bool serving_ = false;
  std::unordered_set<Shared> watchers_;
};

}  // namespace muster::rpc
