#pragma once

#include <cstdint>
#include <functional>
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

/// The parts of a server that every service needs: the shared state, who leads, and a way to
/// have something done by the leader, wherever that is. Loop thread only.
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
  /// What versions and revisions count in: another one after a restore.
  [[nodiscard]] const std::string& history() const { return parts_.replica.log().log_id(); }
  /// Whether a caller that was told `history` has seen another one; not when it was told none.
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

  /// Who sent this request, for people: a certificate's name, or an address.
  [[nodiscard]] static std::string asked_by(const rpc::CallPtr& call);
  /// As the client named the request, or as this server did for want of that.
  [[nodiscard]] std::string request_id(const rpc::CallPtr& call);

  /// Runs `here` when this server leads. Otherwise the leader is asked the same, and its answer is
  /// passed on; while there is none, or it cannot be reached, the call is held until shortly before
  /// its deadline, so that the death of a leader costs a client time and no error. A call that came
  /// from another server is told who leads instead.
  void at_leader(const rpc::CallPtr& call, const std::string& request, std::function<void()> here);
  /// Runs `here` when this server leads; otherwise the caller is told who does. For what may take
  /// longer than a call is passed on for.
  void only_at_leader(const rpc::CallPtr& call, const std::function<void()>& here);
  /// The same for one message of a stream that goes on: `done` hears the leader's answer, or why
  /// there was none for as long as a call is held.
  using Answered = std::function<void(rpc::RpcStatus status, std::string answer)>;
  void at_leader(const rpc::CallPtr& call, std::string request, std::function<void()> here,
                 Answered done);

  /// Has a command applied; one that is not valid is refused.
  void propose(const cluster::Command& command, Callback<cluster::Answer> done);
  /// The same for a call. A refusal is told to `refused` where given, and to the caller.
  void propose(const rpc::CallPtr& call, const cluster::Command& command,
               std::function<void(const cluster::Answer&)> done,
               const std::function<rpc::RpcStatus(const Error&)>& refused = {});

  /// Runs `then` once this server has everything that was acknowledged before; without `fresh` at
  /// once.
  void read(const rpc::CallPtr& call, bool fresh, std::function<void()> then);
  /// As read(), for an answer that takes long to make: those come one after the other.
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
  ReadLane lane_;
  Lifetime lifetime_;
};

}  // namespace muster::server
