#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "client/coordinator_client.h"
#include "core/client/campaign_machine.h"

namespace muster::client {

/// Campaigns through musterd, and goes on at another server when one dies: the term does not end.
///
/// Guarantee: while leads() is true here, it is true for no other worker of the election, if clock
/// rates differ by less than 16 %. Not guaranteed: anything about work that goes on after it; send
/// the epoch along, as a fencing token.
///
/// Threads: any but the client's own. Must be destroyed before its client.
class Campaign {
 public:
  /// Called on the client's own thread, which must not be blocked.
  using Listener = std::function<void(const CampaignEvent& event)>;

  /// kInvalid names the field.
  [[nodiscard]] static Result<std::unique_ptr<Campaign>> start(Client& client,
                                                               const CampaignConfig& config,
                                                               Listener listener);
  /// Ends at once, without a release: a successor waits until the lease has expired.
  ~Campaign();
  Campaign(const Campaign&) = delete;
  Campaign& operator=(const Campaign&) = delete;

  /// Compares the deadline with the moment of the call.
  [[nodiscard]] bool leads() const;
  /// The time for which this worker may lead without another renewal; zero if it does not lead.
  [[nodiscard]] Duration left() const;
  [[nodiscard]] Epoch epoch() const;

  /// Requires: the work has ended. Hands over, if possible to `prefer`, and campaigns again later.
  void resign(const std::string& prefer = {});
  /// After kLost: the work has ended, campaign again.
  void work_ended();
  /// Requires: the work has ended. Hands over and waits. False if the servers have not confirmed
  /// that within `limit`.
  [[nodiscard]] bool stop(Duration limit = 10s);

 private:
  struct State;
  Campaign(Client& client, const CampaignConfig& config, Listener listener);

  Runtime& runtime_;
  std::unique_ptr<State> state_;
};

}  // namespace muster::client
