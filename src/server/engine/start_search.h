#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "core/engine/start_plan.h"
#include "platform/event_loop.h"
#include "server/engine/data_directory.h"
#include "server/engine/engine_options.h"
#include "server/engine/peer_views.h"
#include "server/engine/presence_responder.h"

namespace muster::engine {

/// Finds out how a member must start: reads its data and queries its peers until the plan is clear,
/// answers peers that do the same, and asks for admission if necessary. Loop thread only.
class StartSearch {
 public:
  /// kRestart, kBootstrap or kJoin; or why it cannot start.
  using Found = std::function<void(Result<StartPlan>)>;

  StartSearch(EventLoop& loop, const EngineOptions& options, const DataDirectory& directory,
              PeerViews& views, Found found);

  void begin() { look(); }
  /// What it waits for.
  [[nodiscard]] const std::string& words() const { return words_; }

 private:
  void look();
  void decide(StartPlan plan);
  void ask(std::vector<std::string> contacts);
  void again(std::string words);
  void finish(Result<StartPlan> result);

  const EngineOptions& options_;
  const DataDirectory& directory_;
  PeerViews& views_;
  EventLoop& loop_;
  Found found_;
  std::string words_;
  bool saw_all_ = false;
  std::unique_ptr<PresenceResponder> responder_;
  Timer timer_;
  Lifetime lifetime_;
};

}  // namespace muster::engine
