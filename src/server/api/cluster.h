#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "base/strong.h"
#include "core/cluster/commands.h"
#include "rpc/call.h"
#include "server/cluster/leader_term.h"
#include "server/cluster/leader_view.h"
#include "server/cluster/replicated_state.h"
#include "server/rpc/peers.h"
#include "server/security/access_control.h"
#include "server/security/read_lane.h"

namespace muster::server {

class Observer;

/// The parts of a server that every service needs: the shared state, the leader, and a way to let
/// the leader perform a request, wherever it is. Threads: loop thread only.
class Cluster {
 public:
  struct Parts {
    Loop& loop;
    ReplicatedState& replica;
    LeaderTerm& term;
    rpc::Peers& peers;
    AccessControl& access;
    Observer& observer;
    std::function<LeaderView()> leader;
    std::string id;       ///< Of this server.
    std::string process;  ///< Random: another one after every start.
  };
  explicit Cluster(Parts parts) : parts_(std::move(parts)), lane_(parts_.loop) {}

  [[nodiscard]] const cluster::ClusterState& state() const { return parts_.replica.state(); }
  [[nodiscard]] const ReplicatedState& replica() const { return parts_.replica; }
  /// The history of versions and revisions: another one after a restore.
  [[nodiscard]] const std::string& history() const { return parts_.replica.log().log_id(); }
  /// Whether a caller that knows `history` has seen another one; false if it knows none.
  [[nodiscard]] bool is_other(const std::string& history) const {
    return !history.empty() && history != this->history();
  }
  [[nodiscard]] const std::string& id() const { return parts_.id; }
  [[nodiscard]] const std::string& process() const { return parts_.process; }
  [[nodiscard]] LeaderTerm& term() { return parts_.term; }
  [[nodiscard]] LeaderView leader() const { return parts_.leader(); }
  [[nodiscard]] Loop& loop() { return parts_.loop; }
  [[nodiscard]] AccessControl& access() { return parts_.access; }
  [[nodiscard]] Observer& observer() { return parts_.observer; }

  /// The sender of this request, for people: a certificate's name, or an address.
  [[nodiscard]] static std::string asked_by(const rpc::CallPtr& call);
  /// The client's id of the request, or otherwise this server's.
  [[nodiscard]] std::string request_id(const rpc::CallPtr& call);

  /// Runs `here` if this server leads. Otherwise it asks the leader and passes on the answer. While
  /// there is no leader, or it is unreachable, the call is held until shortly before its deadline,
  /// so that the death of a leader costs a client time but no error. A call from another server
  /// gets the leader's address instead.
  void at_leader(const rpc::CallPtr& call, const std::string& request, std::function<void()> here);
  /// Runs `here` if this server leads; otherwise the caller gets the leader's address. For requests
  /// that may take longer than a forwarded call.
  void only_at_leader(const rpc::CallPtr& call, const std::function<void()>& here);
  /// Likewise for one message of a stream that goes on: `done` gets the leader's answer, or why
  /// there was none for as long as a call is held.
  using Answered = std::function<void(rpc::RpcStatus status, std::string answer)>;
  void at_leader(const rpc::CallPtr& call, std::string request, std::function<void()> here,
                 Answered done);

  /// Sends a request of this server's own to the leader, once, if another server leads. `done` gets
  /// the leader's answer; UNAVAILABLE if the request certainly was not performed.
  void ask_leader(const std::string& method, std::string request, Duration timeout, Answered done);

  /// Calls `changed` after each entry of the log, and after the whole state was replaced, until
  /// forget(). It must not change who listens.
  [[nodiscard]] std::uint64_t listen(std::function<void()> changed) {
    listeners_.emplace(++listened_, std::move(changed));
    return listened_;
  }
  void forget(std::uint64_t listener) { listeners_.erase(listener); }
  void changed() const {
    for (const auto& [id, listener] : listeners_) listener();
  }

  /// Has a command applied. Refuses an invalid one, and one for which the store has no room.
  void propose(const cluster::Command& command, Callback<cluster::Answer> done);
  /// Likewise for a call. A refusal goes to `refused` if given, and to the caller.
  void propose(const rpc::CallPtr& call, const cluster::Command& command,
               std::function<void(const cluster::Answer&)> done,
               const std::function<rpc::RpcStatus(const Error&)>& refused = {});

  /// Calls `done` when this server has everything that was acknowledged before.
  void barrier(Callback<Done> done) { parts_.replica.barrier(std::move(done)); }
  /// Runs `then` when this server has everything that was acknowledged before; without `fresh` at
  /// once.
  void read(const rpc::CallPtr& call, bool fresh, std::function<void()> then);
  /// Like read(), for answers that take long to make: they are made one after the other.
  void read_much(const rpc::CallPtr& call, bool fresh, std::function<void()> then);

 private:
  /// A call being forwarded to the leader, whichever server that will be.
  struct ForwardedCall {
    rpc::CallPtr call;
    std::string request;
    std::function<void()> here;
    Answered done;
    MonoTime until;
  };
  void forward(const std::shared_ptr<const ForwardedCall>& waiting);
  void ask_leader(const rpc::CallPtr& call, std::string request, Answered done);

  Parts parts_;
  std::uint64_t requests_ = 0;  ///< Named here so far.
  std::uint64_t listened_ = 0;
  std::map<std::uint64_t, std::function<void()>> listeners_;
  ReadLane lane_;
  Lifetime lifetime_;
};

}  // namespace muster::server
