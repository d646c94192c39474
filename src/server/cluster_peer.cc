#include "server/cluster_peer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"
#include "core/cluster/upgrade.h"
#include "log/keys.h"
#include "server/api/backup_stream.h"
#include "server/cluster/log_identity.h"
#include "server/rpc/message.h"
#include "store/probe.h"

namespace muster::server {
namespace {

constexpr const char* kElection = "musterd";

rlog::Options log_options(const ServerConfig& config, const Result<std::string>& known_log) {
  rlog::Options options;
  options.prefix = rlog::kServerLog;
  options.create = true;
  options.cluster = config.cluster;
  if (known_log) options.log_id = *known_log;
  if (config.request_timeout > 0s) options.request_timeout = config.request_timeout;
  options.compact_after_entries = config.snapshot_entries;
  return options;
}

LeaderTerm::Options term_options(const ServerConfig& config, const std::string& process,
                                 Observer& observer) {
  const CandidateOptions candidate = config.candidate().filled();
  LeaderTerm::Options options;
  options.id = config.id;
  options.membership = config.membership;
  options.supervision.stop_budget = *candidate.stop_grace;
  options.supervision.kill_margin = candidate.kill_margin;
  options.incarnation = log_incarnation(config.id, process);
  options.on_batch = [&observer](std::size_t beats) { observer.batch_written(beats); };
  return options;
}

AdminService::Common in_common(const ServerConfig& config) {
  return {config.engine.substr(0, config.engine.find(':')), !config.crl_file.empty()  ? "--crl-file"
                                                            : !config.crl_url.empty() ? "--crl-url"
                                                                                      : ""};
}

}  // namespace

ClusterPeer::ClusterPeer(const ServerConfig& config, Surroundings surroundings)
    : config_(config),
      loop_(surroundings.loop),
      store_(surroundings.store),
      random_(surroundings.random),
      on_fatal_(std::move(surroundings.on_fatal)),
      peers_(surroundings.peers),
      set_serving_(std::move(surroundings.set_serving)),
      address_(std::move(surroundings.address)),
      process_(random_.uuid()),
      observer_(surroundings.observer),
      known_log_(known_log(config_.data_dir)),
      replica_(log_options(config_, known_log_), {loop_, store_, Random(random_.next())},
               {.applied =
                    [this](const std::vector<membership::Event>& events) {
                      topology_hub_.publish(events);
                      store_hub_.publish();
                      cluster_.changed();
                      observer_.applied(events);
                    },
                .reloaded =
                    [this] {
                      topology_hub_.reset();
                      store_hub_.publish();
                      cluster_.changed();
                      observer_.reloaded();
                    },
                .deposed =
                    [this](Epoch of, const std::string& why) {
                      candidate_.rise_above(replica_.log().position().epoch);
                      observer_.metrics().displaced.add();
                      if (replica_.log().position().epoch > of) {
                        observer_.metrics().epoch_drift.add();
                      }
                      term_.deposed(of, why);
                    },
                .may_propose =
                    [this](const cluster::Command& command) {
                      return cluster::understood_by_all(cluster::level(command),
                                                        replica_.state().servers(),
                                                        admin_.reachability(), loop_.now());
                    },
                .settled =
                    [this](Duration took, bool applied) {
                      Metrics& metrics = observer_.metrics();
                      metrics.proposals.add();
                      if (applied) return metrics.committed(took);
                      metrics.refusals.add();
                    },
                .sealed = [this](const rlog::Seal& seal) { sealed(seal); },
                .stopped = [this](const Error& error) { on_fatal_(explained(error)); }}),
      mover_({loop_, store_, std::move(surroundings.open_engine), replica_, Random(random_.next()),
              log_options(config_, known_log_).request_timeout,
              [this](std::function<void(bool)> done) {
                ask_move_state(
                    {}, kMoveStateTimeout, [done = std::move(done)](const MoveStates& others) {
                      const auto copies = [](const auto& each) { return each.second.copying(); };
                      done(std::any_of(others.answers.begin(), others.answers.end(), copies));
                    });
              },
              [this](const rlog::Seal& seal, Callback<Done> done) {
                ask_for_mark(seal, loop_.now() + kMarkLimit, std::move(done));
              },
              config_.managed()}),
      move_timer_(loop_),
      term_(loop_, replica_, term_options(config_, process_, observer_),
            [this](Epoch epoch) { begin_term(epoch); }),
      candidate_(kElection, config_.candidate(),
                 {.loop = loop_,
                  .store = store_,
                  .work = term_,
                  .random = Random(random_.next()),
                  .listener =
                      [this](const telemetry::Event& event) {
                        watch_election(event);
                        if (const auto* trouble = std::get_if<telemetry::Trouble>(&event.what)) {
                          on_trouble(*trouble);
                        } else if (std::holds_alternative<telemetry::LeaderChanged>(event.what)) {
                          announce();
                        }
                        update_health();
                      },
                  .probe =
                      [this](Callback<Done> done) {
                        probe_store(store_, loop_, random_,
                                    config_.candidate().filled().request_timeout, std::move(done));
                      }}),
      cluster_({loop_, replica_, term_, peers_, surroundings.access, observer_,
                [this] { return leader(); }, config_.id, process_}),
      topology_hub_(loop_, replica_.state(),
                    [this](const membership::ServiceFilter& services) {
                      v1::TopologyUpdate update;
                      *update.mutable_full_sync() = coordinator_.topology(services);
                      update.set_version(update.full_sync().version());
                      return rpc::to_payload(update);
                    },
                    {.on_lagged = [this] { observer_.metrics().watch_lagged.add(); }}),
      store_hub_(loop_, replica_.state(), {}),
      coordinator_(cluster_, topology_hub_),
      stores_(cluster_, store_hub_),
      elections_(cluster_, [this] { return Random(random_.next()); }),
      locks_(cluster_, [this] { return Random(random_.next()); }),
      admin_(cluster_, config_.id, in_common(config_),
             {.step_down =
                  [this](std::optional<WorkerId> to, const std::string& why) {
                    term_.resign_because(why);
                    candidate_.step_down(to);
                  },
              .backup =
                  [this](const rpc::CallPtr& call) {
                    std::make_shared<BackupStream>(loop_, Random(random_.next()),
                                                   rlog::Place{store_, rlog::kServerLog}, call)
                        ->start();
                  },
              .move = [this](const std::string& engine,
                             Callback<rlog::Index> done) { move(engine, std::move(done)); },
              .remove_member = std::move(surroundings.remove_member)}),
      explanations_(cluster_),
      announce_timer_(loop_),
      health_timer_(loop_) {
  coordinator_.add_to(router_);
  stores_.add_to(router_);
  elections_.add_to(router_);
  locks_.add_to(router_);
  admin_.add_to(router_);
  explanations_.add_to(router_);
}

ClusterPeer::~ClusterPeer() {
  observer_.release("this server is stopping");
}

void ClusterPeer::show() {
  observer_.attach({.replica = &replica_,
                    .leader = [this] { return leader(); },
                    .watchers = [this] { return topology_hub_.watchers(); },
                    .watch_lag = [this] { return topology_hub_.lag(); },
                    .lease_left = [this] { return term_.lease_left(); },
                    .held = [this] { return term_.held(); },
                    .sightings = [this] { return sightings(); },
                    .engine_trouble = [this] { return candidate_.store_trouble(); },
                    .campaigns = [this] { return elections_.campaigns(); },
                    .campaigns_leading = [this] { return elections_.leading(); },
                    .locks_held = [this] { return locks_.holding(); },
                    .locks_waited_for = [this] { return locks_.waiting(); }});
}

void ClusterPeer::watch_election(const telemetry::Event& event) {
  // Others say what they mean in a line of their own, or belong to `muster run`.
  if (observer_.metrics().election(event)) telemetry::write_log(event, kElection);
  if (std::holds_alternative<telemetry::ElectionStarted>(event.what)) {
    if (!stood_at_) stood_at_ = loop_.now();
  } else if (std::holds_alternative<telemetry::BecameLeader>(event.what)) {
    if (stood_at_) observer_.metrics().elected(loop_.now() - *stood_at_);
    stood_at_.reset();
  } else if (const auto* changed = std::get_if<telemetry::LeaderChanged>(&event.what)) {
    if (changed->current) stood_at_.reset();
  }
}

void ClusterPeer::start() {
  if (!known_log_) return on_fatal_(known_log_.error());
  replica_.open(lifetime_.wrap([this](const Status& status) { opened(status); }));
}

void ClusterPeer::opened(const Status& status) {
  // The log has told the reason already.
  if (!status || stopping_) return;
  const std::string& log = replica_.log().log_id();
  if (*known_log_ != log) {
    if (Status kept = remember_log(config_.data_dir, log); !kept) return on_fatal_(kept.error());
    known_log_ = log;
  }
  if (replica_.log().applied() == rlog::Index()) {
    log_warn("the log is new and empty", {{"server", config_.id}, {"log", log}});
  }
  const membership::Topology& topology = replica_.state().topology();
  if (config_.ring_given && topology.version() != TopologyVersion(0) &&
      topology.ring() != config_.membership.ring) {
    log_warn("ring options ignored: the cluster has a ring; change it with `muster ring set`",
             {{"configured", to_string(config_.membership.ring)},
              {"in_force", to_string(topology.ring())}});
  }
  open_ = true;
  show();
  // sealed() follows: there is nothing to lead here any more.
  if (replica_.log().position().seal) return show_move();
  log_info("state ready", {{"server", config_.id},
                           {"log", log},
                           {"index", std::to_string(replica_.log().applied().value())},
                           {"nodes", std::to_string(replica_.state().topology().size())}});
  make_sure_of_own_id([this] { take_part(); });
}

void ClusterPeer::take_part() {
  if (seal_) return;
  // The log may have been led elsewhere before: by the engine it was moved or restored from.
  candidate_.rise_above(replica_.log().position().epoch);
  candidate_.start();
  announce();
  update_health();
}

// This server's log is not there: an operator who wiped or replaced the engine must learn how to go
// on.
Error ClusterPeer::explained(const Error& error) const {
  const bool other = error.code == Errc::kNotFound || error.code == Errc::kConflict;
  if (open_ || !other || !known_log_ || known_log_->empty()) return error;
  return {error.code, error.message + ". This server has served the log " + *known_log_ +
                          " and accepts no other: give it the engine with that log, or, to serve "
                          "this engine's log, remove " +
                          log_identity_path(config_.data_dir)};
}

// A server whose engine cannot judge would wait for ever for a leader.
void ClusterPeer::on_trouble(const telemetry::Trouble& trouble) {
  using Kind = telemetry::Trouble::Kind;
  if (trouble.kind != Kind::kUnsafeStore && trouble.kind != Kind::kDuplicateNode) {
    return log_warn("trouble with the servers' election",
                    {{"server", config_.id},
                     {"kind", telemetry::to_string(trouble.kind)},
                     {"message", trouble.message}});
  }
  const Error error =
      trouble.kind == Kind::kUnsafeStore
          ? Error{Errc::kUnsupported, trouble.message}
          : Error{Errc::kConflict, "another process serves as " + config_.id +
                                       " on this engine; give every server its own --id"};
  loop_.post(lifetime_.wrap([this, error] { on_fatal_(error); }));
}

void ClusterPeer::dispatch(const rpc::CallPtr& call) {
  if (!open_ || stopping_) {
    const char* why = open_ ? "this server is stopping" : "this server is loading its state";
    return cluster_.access().decline(call, {rpc::Code::kUnavailable, why, {}});
  }
  if (call->method() == kMoveState) return tell_move_state(call);
  if (seal_ && call->method() != kHealthCheck) {
    const std::string& to = seal_->target;
    return cluster_.access().decline(
        call, {rpc::Code::kUnavailable, left_ ? moved_to(to).message : moving_to(to), {}});
  }
  router_.dispatch(call);
}

LeaderView ClusterPeer::leader() const {
  if (term_.active()) return {true, config_.id, address_, term_.epoch()};
  const auto id = candidate_.current_leader();
  if (!id || id->value() == config_.id) return {false, {}, {}, candidate_.epoch()};
  const cluster::ServerEntry* server = replica_.state().server(id->value());
  return {false, id->value(), server == nullptr ? std::string() : server->address,
          candidate_.epoch()};
}

AuditLog::Position ClusterPeer::position() const {
  return {leader().epoch.value(), replica_.state().topology().version().value()};
}

void ClusterPeer::begin_term(Epoch epoch) {
  admin_.begin_term();
  const auto report = [](const Result<cluster::Answer>& answer) {
    if (!answer) log_warn("first command refused", {{"error", answer.error().message}});
  };
  log_info("leading", {{"server", config_.id}, {"epoch", std::to_string(epoch.value())}});
  const cluster::AnnounceServer self{
      config_.id, address_, MUSTER_VERSION, cluster::own_level(), {}};
  const cluster::ServerEntry* known = replica_.state().server(config_.id);
  if (known == nullptr || !cluster::same(*known, self)) replica_.propose(self, report);
  // The configured ring is for a new cluster; afterwards it is changed by asking, not by whichever
  // file the next leader happens to have.
  const membership::Topology& topology = replica_.state().topology();
  if (topology.version() == TopologyVersion(0) && topology.ring() != config_.membership.ring) {
    replica_.propose(
        cluster::ChangeTopology{membership::SetRingConfig{config_.membership.ring, {}}}, report);
  }
}

void ClusterPeer::stop(std::function<void()> done) {
  if (std::exchange(stopping_, true)) return;
  announce_timer_.cancel();
  health_timer_.cancel();
  set_serving_(false);
  topology_hub_.close();
  store_hub_.close();
  elections_.close();
  locks_.close();
  term_.resign_because("it was asked to stop");
  candidate_.stop(std::move(done));
}

}  // namespace muster::server
