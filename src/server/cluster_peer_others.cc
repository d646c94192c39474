// What a server and the others know of each other, and what the leader writes down of it.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "core/cluster/roll.h"
#include "muster/v1/coordinator.pb.h"
#include "muster/v1/peer.pb.h"
#include "server/cluster_peer.h"

namespace muster::server {
namespace {

constexpr Duration kAnnounceInterval = 3s;
constexpr Duration kHealthInterval = 1s;
/// What a process that may have the same id is given to answer.
constexpr Duration kIdTimeout = 1s;
/// An engine that is silent for longer is worth a line in the history.
constexpr Duration kOutage = 5s;
/// An outage that nobody has written down by then was this server's alone.
constexpr Duration kOldNews = 60s;

}  // namespace

// Another process under this id would be taken for this one by clients and servers alike. The one
// that is known under it has another address then, and answers there.
void ClusterPeer::make_sure_of_own_id(std::function<void()> then) {
  const cluster::ServerEntry* known = replica_.state().server(config_.id);
  if (known == nullptr || known->address == address_) return then();
  const auto answered = [this, then = std::move(then), address = known->address](
                            const rpc::RpcStatus& status, const std::string& answer) {
    if (stopping_) return;
    v1::HealthCheckResponse other;
    const bool taken = status.ok() && other.ParseFromString(answer) &&
                       other.server_id() == config_.id && !other.process_id().empty() &&
                       other.process_id() != process_;
    if (!taken) return then();
    on_fatal_({Errc::kConflict, "server " + config_.id + " is up at " + address +
                                    "; give this server, at " + address_ +
                                    ", its own --id, or stop that server first"});
  };
  peers_.call_peer(known->address, "/muster.v1.CoordinatorService/HealthCheck", {}, kIdTimeout,
                   lifetime_.wrap(answered));
}

std::map<std::string, Sighting> ClusterPeer::sightings() const {
  if (term_.active()) return admin_.sightings();
  // While nobody leads, nobody listens to all of them.
  if (leader().id.empty()) return {};
  auto all = told_;
  for (auto& [id, sighting] : all) sighting.ago += loop_.now() - told_at_;
  return all;
}

void ClusterPeer::announce() {
  announce_timer_.arm(kAnnounceInterval, [this] { announce(); });
  const LeaderView leader = this->leader();
  if (leader.self || leader.address.empty()) return;
  v1::AnnounceRequest request;
  request.set_id(config_.id);
  request.set_address(address_);
  request.set_version(MUSTER_VERSION);
  request.set_command_level(cluster::own_level());
  request.set_applied_index(replica_.log().applied().value());
  peers_.call_peer(
      leader.address, "/muster.v1.PeerService/Announce", request.SerializeAsString(),
      kAnnounceInterval,
      lifetime_.wrap([this, leader](const rpc::RpcStatus& status, const std::string& answer) {
        v1::AnnounceResponse response;
        if (status.ok() && response.ParseFromString(answer)) {
          told_.clear();
          for (const v1::ServerSighting& each : response.servers()) {
            told_[each.id()] = {std::chrono::milliseconds(each.silent_ms()), each.applied_index()};
          }
          told_at_ = loop_.now();
        }
        // Said again soon; a leader that changes meanwhile is no news.
        if (status.ok() || status.code == rpc::Code::kFailedPrecondition) return;
        log_warn("the leader did not hear this server",
                 {{"leader", leader.id}, {"error", status.message}});
      }));
}

void ClusterPeer::update_health() {
  health_timer_.arm(kHealthInterval, [this] { update_health(); });
  const std::size_t others = candidate_.at_work().size() - 1;
  const Duration patience =
      std::max(cluster::kAbsentAfter, 2 * candidate_.options().worker_timeout);
  if (term_.active() && admin_.reachability().deserted(others, patience, loop_.now())) {
    log_warn("no other server reaches this one; handing over",
             {{"server", config_.id}, {"epoch", std::to_string(term_.epoch().value())}});
    term_.resign_because("no other server reached it");
    candidate_.step_down({});
  }
  note_outage();
  note_servers();
  set_serving_(open_ && !stopping_ && coordinator_.health().healthy());
}

// While the engine is silent nothing can be written down; the next leader does so, and
// that may take an election or two.
void ClusterPeer::note_outage() {
  if (!open_ || stopping_) return;
  const auto last = replica_.state().decisions().last_about("engine");
  const std::uint64_t told = last ? last->seq : 0;
  const Duration silence = replica_.engine_silence();
  if (silence >= kOutage) {
    if (!outage_) outage_ = Outage{.told_before = told};
    outage_->length = silence;
    outage_->ended = loop_.now();
    return;
  }
  if (!outage_) return;
  if (told != outage_->told_before || loop_.now() - outage_->ended > kOldNews) {
    return outage_.reset();
  }
  if (!term_.active()) return;
  const std::string lasted =
      "it did not answer for " +
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(outage_->length).count()) +
      " s";
  outage_.reset();
  write_down({cluster::DecisionKind::kEngine, "engine", cluster::Why::kEnded, lasted, {}, {}});
}

void ClusterPeer::note_servers() {
  if (!term_.active() || stopping_) return;
  for (const cluster::Note& note : cluster::arrivals_and_departures(
           replica_.state(), admin_.reachability(), config_.id, loop_.now())) {
    if (!being_told_.insert(note.subject).second) continue;
    log_info("server " + note.subject +
                 (note.why == cluster::Why::kSilence ? " is unreachable" : " is reachable again"),
             {{"server", config_.id}});
    write_down(note, [this, id = note.subject] { being_told_.erase(id); });
  }
}

void ClusterPeer::write_down(const cluster::Note& note, std::function<void()> settled) {
  replica_.propose(
      note, lifetime_.wrap([settled = std::move(settled)](const Result<cluster::Answer>& answer) {
        settled();
        if (answer) return;
        log_warn("not written", {{"command", "Note"}, {"error", answer.error().message}});
      }));
}

}  // namespace muster::server
