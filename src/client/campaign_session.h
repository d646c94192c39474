#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "client/caller.h"
#include "core/client/campaign_machine.h"

namespace muster::client {

/// The streams of one campaign, one after another, as CampaignMachine decides. Threads: loop thread
/// only.
class CampaignSession {
 public:
  using Listener = std::function<void(const CampaignEvent&)>;

  /// Begins at once. `session` names this process, and no other. The listener may destroy this.
  CampaignSession(Caller& caller, CampaignConfig config, std::string session, Listener listener);
  CampaignSession(const CampaignSession&) = delete;
  CampaignSession& operator=(const CampaignSession&) = delete;

  /// Compares the deadline with the moment of the call.
  [[nodiscard]] bool leads() const { return machine_.leads(caller_.loop().now()); }
  [[nodiscard]] const CampaignMachine& machine() const { return machine_; }

  void resign(std::string prefer);
  void work_ended();
  void stop();

 private:
  void pump();
  void open(const CampaignMachine::Hello& hello);
  void on_message(const std::string& body);
  void on_end(const RpcStatus& status);
  void deliver(const CampaignMachine::Events& events);
  void arm();

  Caller& caller_;
  const CampaignConfig config_;
  const std::string session_;
  Listener listener_;
  CampaignMachine machine_;
  std::string server_;
  std::unique_ptr<Stream> stream_;
  Timer timer_;
  Lifetime lifetime_;
};

}  // namespace muster::client
