#pragma once

#include <functional>
#include <optional>

#include "base/loop.h"
#include "core/engine/upkeep.h"
#include "server/engine/engine_options.h"
#include "server/engine/etcd_admin.h"

namespace muster::engine {

/// Maintains a member that serves: checks its vitals again and again, and performs plan_upkeep().
/// One round at a time. Threads: loop thread only.
class UpkeepCycle {
 public:
  struct Finding {
    UpkeepSight sight;
    UpkeepPlan plan;
  };
  /// After every check: its finding, or why it failed.
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
