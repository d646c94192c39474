// Leaving one engine for another: who copies, and when a server may go.
#include <memory>
#include <utility>

#include "base/log.h"
#include "muster/v1/peer.pb.h"
#include "server/cluster_peer.h"
#include "server/rpc/message.h"

namespace muster::server {
namespace {

/// What a server is given to open the new engine and read there.
constexpr Duration kMarkTimeout = 10s;
constexpr Duration kMarkInterval = 1s;
constexpr Duration kLeaveInterval = 100ms;
/// What the others are given to read the seal. One that has not by then may be stopped.
constexpr Duration kLeaveLimit = 10s;

}  // namespace

void ClusterPeer::move(const std::string& engine, Callback<rlog::Index> done) {
  mover_.start(engine, lifetime_.wrap([this, engine,
                                       done = std::move(done)](const Result<rlog::Index>& moved) {
    done(moved);
    if (moved) return leave(engine, loop_.now() + kLeaveLimit);
    if (mover_.sealing()) on_fatal_(moved.error());
  }));
}

void ClusterPeer::sealed(const rlog::Seal& seal) {
  if (seal_ || stopping_) return;
  seal_ = seal;
  show_move();
  // There is nothing to lead here any more, and nobody to announce this server to.
  announce_timer_.cancel();
  elections_.close();
  locks_.close();
  if (candidate_.started()) candidate_.stop([] {});
  if (mover_.sealing()) return;  // By this server, which is at it.
  mover_.finish(seal, lifetime_.wrap([this, seal](const Status& finished) {
    if (!finished) return on_fatal_(finished.error());
    leave(seal.target, loop_.now() + kLeaveLimit);
  }));
}

void ClusterPeer::show_move() {
  const auto& seal = replica_.log().position().seal;
  if (open_ && seal) observer_.waiting(moving_to(seal->target));
}

void ClusterPeer::tell_move_state(const rpc::CallPtr& call) {
  rpc::read_request<v1::MoveStateRequest>(
      call, [this](const auto& c, const v1::MoveStateRequest& request, const auto&) {
        v1::MoveStateResponse response;
        response.set_sealed(seal_.has_value());
        response.set_copying(mover_.copying());
        if (request.engine().empty()) return rpc::reply(c, response);
        mover_.sees_mark({request.move_id(), request.engine()},
                         lifetime_.wrap([c, response](const Status& seen) mutable {
                           response.set_sees_mark(seen.ok());
                           if (!seen) response.set_why_not(seen.error().message);
                           rpc::reply(c, response);
                         }));
      });
}

void ClusterPeer::ask_move_state(const v1::MoveStateRequest& request, Duration timeout,
                                 std::function<void(const MoveStates&)> done) {
  struct Round {
    std::size_t missing = 1;
    MoveStates states{};
    std::function<void(const MoveStates&)> done;
  };
  const auto round = std::make_shared<Round>();
  round->done = std::move(done);
  const auto answered = [round] {
    if (--round->missing == 0) round->done(round->states);
  };
  for (const auto& [id, server] : replica_.state().servers()) {
    if (id == config_.id) continue;
    ++round->missing;
    peers_.call_peer(server.address, kMoveState, request.SerializeAsString(), timeout,
                     lifetime_.wrap([round, answered, who = id](const rpc::RpcStatus& status,
                                                                const std::string& answer) {
                       v1::MoveStateResponse response;
                       if (status.ok() && response.ParseFromString(answer)) {
                         round->states.answers[who] = response;
                       } else {
                         round->states.failures[who] = status;
                       }
                       answered();
                     }));
  }
  loop_.post(lifetime_.wrap(answered));
}

// A server that does not answer is either slow or gone. It is asked again until its silence shows
// which: a term may be too young to know, as after a restore, where the servers of the backup are
// still in the log. One that is gone is left out: it may be why the log is moved.
void ClusterPeer::ask_for_mark(const rlog::Seal& seal, MonoTime limit, Callback<Done> done) {
  v1::MoveStateRequest request;
  request.set_engine(seal.target);
  request.set_move_id(seal.move_id);
  ask_move_state(request, kMarkTimeout, [=, this](const MoveStates& others) {
    for (const auto& [id, answer] : others.answers) {
      if (answer.sees_mark()) continue;
      return done({Errc::kConflict, "server " + id + " does not see what this server wrote to " +
                                        seal.target + ": " + answer.why_not() +
                                        ". The new engine must be the same for every server"});
    }
    const MonoTime now = loop_.now();
    for (const auto& [id, status] : others.failures) {
      if (admin_.reachability().presence(id, now) == cluster::Presence::kAbsent) {
        log_warn("an unreachable server was not asked whether it reaches the new engine",
                 {{"server", id}, {"target", seal.target}});
        continue;
      }
      if (now >= limit) {
        return done({Errc::kConflict, "server " + id + " did not say whether it reaches " +
                                          seal.target + ": " + status.message});
      }
      return move_timer_.arm(kMarkInterval, [=, this] { ask_for_mark(seal, limit, done); });
    }
    done(Done{});
  });
}

// Everything is there. One that has not read the seal yet needs the engine to do so, and may need
// this server for that engine.
void ClusterPeer::leave(const std::string& target, MonoTime limit) {
  if (!std::exchange(left_, true)) observer_.waiting(moved_to(target).message);
  ask_move_state({}, kMoveStateTimeout, [this, target, limit](const MoveStates& others) {
    if (stopping_) return;
    bool all_know = true;
    for (const auto& [id, other] : others.answers) all_know = all_know && other.sealed();
    if (all_know || loop_.now() >= limit) return on_fatal_(moved_to(target));
    move_timer_.arm(kLeaveInterval, [this, target, limit] { leave(target, limit); });
  });
}

}  // namespace muster::server
