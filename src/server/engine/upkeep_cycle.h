#pragma once

#include <functional>
#include <optional>

#include "base/loop.h"
#include "core/engine/upkeep.h"
#include "server/engine/engine_options.h"
#include "server/engine/etcd_admin.h"

namespace muster::engine {

/// Looks after a member that serves: asks it how it is, again and again, and does what
/// plan_upkeep() says. One round at a time. Loop thread only.
class UpkeepCycle {
 public:
  struct Finding {
    UpkeepSight sight;
    UpkeepPlan plan;
  };
  /// After every look: what was found, or why nothing could be.
  using Looked = std::function<void(const Result<Finding>&)>;

  UpkeepCycle(Loop& loop, const EngineOptions& options, EtcdAdmin& admin, Looked looked);

  /// Begins, or begins anew at once.
  void start();
  void stop();

 private:
  void look();
  void act(const UpkeepSight& sight);
  void fail(const Error& error);
  /// Chores that failed are tried again after the next look, which may see them differently.
  Callback<Done> note(const char* what);

  Loop& loop_;
  const EngineOptions& options_;
  EtcdAdmin& admin_;
  Looked looked_;
  Timer timer_;
  std::int64_t compacted_ = 0;
  std::optional<MonoTime> defragmented_;
  bool tried_ = false;
  Lifetime lifetime_;
};

}  // namespace muster::engine
