#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/transport.h"
#include "server/rpc/peers.h"
#include "tests/sim/cluster/network.h"

namespace muster::sim {

/// The clients' way through the simulated network.
class SimTransport final : public client::Transport {
 public:
  /// Told of every message that the owner's host sends (`sent`) and receives, when it does.
  using Tap = std::function<void(const std::string& method, bool sent, const std::string& message)>;

  SimTransport(Network& network, std::string host, Process& process)
      : network_(network), host_(std::move(host)), process_(process) {}

  [[nodiscard]] Loop& loop() override { return process_; }
  [[nodiscard]] std::unique_ptr<client::Connection> connect(const std::string& server) override;

  Tap tap;

 private:
  class SimConnection;
  class SimCall;
  class SimStream;

  void tell(const std::string& method, bool sent, const std::string& message) const {
    if (tap) tap(method, sent, message);
  }

  Network& network_;
  std::string host_;
  Process& process_;
};

/// The servers' way to each other.
class SimPeers final : public rpc::Peers {
 public:
  SimPeers(Network& network, std::string host, Process& process)
      : network_(network), host_(std::move(host)), process_(process) {}

  void call_peer(const std::string& address, const std::string& method, std::string request,
                 Duration timeout, std::function<void(rpc::RpcStatus, std::string)> done,
                 rpc::Metadata metadata = {}) override;

 private:
  Network& network_;
  std::string host_;
  Process& process_;
};

}  // namespace muster::sim
