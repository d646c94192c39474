#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/client/rpc_status.h"
#include "rpc/call.h"
#include "sim/world.h"

namespace muster::sim {

/// How long messages travel. All of it is drawn by the call, not by the network: the order in
/// which a server writes to its watchers must not decide what happens.
struct NetworkFaults {
  Duration latency_min = 200us;
  Duration latency_max = 8ms;
  double slow = 0;  ///< One message takes up to `slow_max` instead, and what follows waits for it.
  Duration slow_max = 3s;
  /// A proxy that grew impatient sends a unary request that has reached its server to it again, up
  /// to `resent_max` later. The client hears the first answer; the second is dropped.
  double resent = 0;
  Duration resent_max = 5s;
};

class Wire;

/// What a client's side of a call hears, on its own process.
struct ClientEnd {
  std::function<void(std::string message)> message;
  /// Last, and once. The reach says whose word the status is.
  std::function<void(const rpc::RpcStatus& status, client::Reach reach)> end;
};

/// Everything between the hosts of a simulation, one call at a time.
///
/// Behaves as connections do: what is sent arrives once and in order, however late; over a link
/// that is cut it waits, and both sides give up after a while. Links are cut one way or both. A
/// host that crashes takes its calls with it, and the other sides learn of it when they can.
/// Connections duplicate nothing, but a proxy between a client and its server may.
class Network {
 public:
  explicit Network(World& world) : world_(world), proxy_(world, 1, 0s) {}

  using Serve = std::function<void(rpc::CallPtr call)>;
  /// From now on `host` answers calls, on `process`.
  void listen(const std::string& host, Process& process, Serve serve);
  /// Everything that runs on the host ends at this moment.
  void crash(const std::string& host);

  void cut(const std::string& from, const std::string& to) { cut_.insert({from, to}); }
  void mend(const std::string& from, const std::string& to) { cut_.erase({from, to}); }
  void mend_all() { cut_.clear(); }
  [[nodiscard]] bool is_cut(const std::string& from, const std::string& to) const {
    return cut_.contains({from, to});
  }

  struct Target {
    std::string host;
    std::string method;
    bool forwarded = false;
    std::optional<Duration> time_left{};
    bool through_proxy = false;  ///< One message, which may be sent twice.
  };
  /// Begins a call from `process` on `host`.
  std::shared_ptr<Wire> open(const std::string& host, Process& process, Target target,
                             ClientEnd end);

  NetworkFaults faults;
  /// Told when a request of `host` is to be sent twice, while the host waits for its answer.
  std::function<void(const std::string& host, const std::string& method)> on_resent;
  [[nodiscard]] World& world() { return world_; }

 private:
  friend class Wire;
  struct Listener {
    Process* process;
    Serve serve;
  };

  void resend(Duration delay, Target target, std::string message);

  World& world_;
  Process proxy_;
  std::map<std::string, Listener> listeners_;
  std::set<std::pair<std::string, std::string>> cut_;
  std::vector<std::weak_ptr<Wire>> wires_;
};

/// One call under way, seen from the client.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
  Wire(Network& network, std::string host, Process& process, Network::Target target, ClientEnd end);

  void send(std::string message);
  /// Nothing more will be sent.
  void close();
  /// The client gives the call up and hears nothing more.
  void cancel();
  /// Whether a request may have left.
  [[nodiscard]] bool sent() const { return left_; }

 private:
  friend class Network;
  class ServerCall;
  /// One direction.
  struct Pipe {
    std::deque<std::function<void()>> waiting;
    TrueTime last{0};
    std::optional<TrueTime> stuck_since;
    bool retrying = false;
  };

  void push(bool up, std::function<void()> arrival);
  void pump(bool up);
  [[nodiscard]] Duration travel();
  void arrive(std::string message);
  void accept(const Network::Listener& listener);
  void deliver(const rpc::Payload& message, std::function<void()> taken);
  void end_client(const rpc::RpcStatus& status, client::Reach reach);
  void end_server();
  void give_up();

  Network& network_;
  World& world_;
  Random random_;
  const std::string host_;
  Process* client_;            ///< Null once that side has ended.
  Process* server_ = nullptr;  ///< Null before it accepted, and once that side has ended.
  const Network::Target target_;
  const TrueTime opened_;
  bool left_;  ///< True from the beginning where there was a connection already.
  bool arrived_ = false;
  bool refused_ = false;
  ClientEnd end_;
  Pipe up_;
  Pipe down_;
  std::weak_ptr<ServerCall> call_;
};

}  // namespace muster::sim
