#include "server/api/election_service.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "core/election/lease.h"
#include "server/rpc/message.h"
#include "server/web/observer.h"

namespace muster::server {
namespace {

/// Of one server, so that its memory is bounded for any number of clients.
constexpr std::size_t kSessionsMax = 4096;
constexpr Duration kLeaderReadTimeout = 5s;
/// A follower hears something at least this often.
constexpr Duration kFollowerKeepalive = 30s;

Status check(const v1::LeaderRequest& request) {
  if (Status s = validate_name("name", request.name()); !s) return s;
  return request.prefix().empty() ? Status(Done{}) : cluster::validate_key(request.prefix());
}

/// What one look at the state says, and until when.
struct SeenTerm {
  v1::ElectionLeader leader;
  MonoTime expires_at = MonoTime::max();
};

SeenTerm seen_term(const std::string& name, const LeaderState& state, Duration age, MonoTime now) {
  SeenTerm seen;
  seen.leader.set_name(name);
  seen.leader.set_epoch(state.epoch.value());
  const Duration left = state.lease - age;
  if (!state.leader || left <= Duration(0)) return seen;
  seen.leader.set_leader(state.leader->value());
  seen.leader.set_value(state.value);
  seen.leader.set_left_ms(static_cast<std::uint64_t>(to_ms(left)));
  seen.expires_at = now + left;
  return seen;
}

bool same(const v1::ElectionLeader& a, const v1::ElectionLeader& b) {
  return a.leader() == b.leader() && a.value() == b.value() && a.epoch() == b.epoch();
}

}  // namespace

/// One stream of Observe.
class ElectionService::Follower : public std::enable_shared_from_this<ElectionService::Follower> {
 public:
  Follower(Cluster& cluster, rpc::CallPtr call, const v1::LeaderRequest& request)
      : loop_(cluster.loop()),
        call_(std::move(call)),
        name_(request.name()),
        key_(NamespaceKeys(name_).state),
        store_(cluster, request.prefix()),
        expiry_(loop_),
        keepalive_(loop_) {}

  void start() {
    watch_ = store_.watch(key_, {}, [this](const WatchEvent& event) {
      if (event.kind == WatchEvent::Kind::kPut && event.key == key_) return see(event.object);
      look();
    });
    look();
  }
  void end() {
    call_->finish({rpc::Code::kUnavailable, "this server is stopping; observe at another one", {}});
  }

 private:
  void look() {
    if (std::exchange(looking_, true)) return;
    store_.get(key_, {}, loop_.now() + kLeaderReadTimeout,
               lifetime_.wrap([this](const Result<Object>& object) {
                 looking_ = false;
                 if (object) return see(*object);
                 if (object.is(Errc::kNotFound)) return see_nobody();
                 call_->finish(rpc::to_status(object.error()));
               }));
  }
  void see_nobody() {
    SeenTerm seen;
    seen.leader.set_name(name_);
    show(std::move(seen));
  }
  void see(const Object& object) {
    const auto state = decode_whole(object, decode_leader_state);
    // A running worker replaces it soon.
    if (!state) return see_nobody();
    show(seen_term(name_, *state, object.age.value_or(Duration(0)), loop_.now()));
  }
  void show(SeenTerm seen) {
    expiry_.cancel();
    if (seen.expires_at != MonoTime::max()) {
      expiry_.arm(seen.expires_at, [this] {
        SeenTerm expired = seen_;
        expired.leader.clear_leader();
        expired.leader.clear_value();
        expired.leader.clear_left_ms();
        expired.expires_at = MonoTime::max();
        show(std::move(expired));
      });
    }
    seen_ = std::move(seen);
    fresh_ = fresh_ || !shown_ || !same(*shown_, seen_.leader);
    write();
  }
  void write() {
    if (writing_ || !fresh_ || call_->over()) return;
    fresh_ = false;
    writing_ = true;
    v1::ElectionLeader now = seen_.leader;
    if (seen_.expires_at != MonoTime::max()) {
      const Duration left = std::max(Duration(0), seen_.expires_at - loop_.now());
      now.set_left_ms(static_cast<std::uint64_t>(to_ms(left)));
    }
    shown_ = now;
    keepalive_.arm(kFollowerKeepalive, [this] {
      fresh_ = true;
      write();
    });
    call_->write(rpc::to_payload(now), lifetime_.wrap([this] {
      writing_ = false;
      write();
    }));
  }

  Loop& loop_;
  rpc::CallPtr call_;
  const std::string name_;
  const Key key_;
  LocalStore store_;
  std::unique_ptr<Watch> watch_;
  SeenTerm seen_;
  std::optional<v1::ElectionLeader> shown_;
  bool fresh_ = false;  ///< Something is to be shown.
  bool writing_ = false;
  bool looking_ = false;
  Timer expiry_;
  Timer keepalive_;
  Lifetime lifetime_;
};

ElectionService::ElectionService(Cluster& cluster, std::function<Random()> random)
    : cluster_(cluster), random_(std::move(random)) {}

ElectionService::~ElectionService() = default;

void ElectionService::add_to(rpc::Router& router) {
  const std::string service = "/muster.v1.ElectionService/";
  router.add(service + "Campaign", [this](const rpc::CallPtr& call) {
    rpc::read_opening<v1::CampaignRequest>(
        call, [this](const auto& c, const auto& request, const auto&) { Campaign(c, request); });
  });
  router.add(service + "Leader", [this](const rpc::CallPtr& call) {
    rpc::read_request<v1::LeaderRequest>(
        call, [this](const auto& c, const auto& request, const auto&) {
          if (cluster_.access().charge(c, LimitedCall::kRead, request.name())) Leader(c, request);
        });
  });
  router.add(service + "Observe", [this](const rpc::CallPtr& call) {
    rpc::read_opening<v1::LeaderRequest>(
        call, [this](const auto& c, const auto& request, const auto&) { Observe(c, request); });
  });
}

std::size_t ElectionService::leading() const {
  return static_cast<std::size_t>(
      std::count_if(sessions_.begin(), sessions_.end(),
                    [](const auto& each) { return each.second.session->leads(); }));
}

void ElectionService::Campaign(const rpc::CallPtr& call, const v1::CampaignRequest& opening) {
  if (call->over()) return;
  if (!opening.has_hello()) {
    return call->finish({rpc::Code::kInvalidArgument, "the first message must be a hello", {}});
  }
  Result<CampaignTerms> terms = CampaignTerms::from(opening.hello());
  if (!terms) return call->finish(rpc::to_status(terms.error()));
  if (!cluster_.access().charge(call, LimitedCall::kWrite, terms->name)) return;
  const std::string key = terms->key();
  if (!sessions_.contains(key) && sessions_.size() >= kSessionsMax) {
    return call->finish({rpc::Code::kResourceExhausted,
                         "this server takes part in as many elections for clients as it can; ask "
                         "another one",
                         {}});
  }
  // Its client has opened another stream, and so the former one is of no use, whatever this server
  // still has of it.
  if (const auto former = sessions_.find(key); former != sessions_.end()) {
    const std::unique_ptr<ElectionSession> replaced = std::move(former->second.session);
    sessions_.erase(former);
    replaced->end({rpc::Code::kAborted, "another stream of this session has replaced it", {}});
  }
  const auto note = [this, weak = std::weak_ptr(call), name = terms->name,
                     id = terms->id.value()](const std::string& what) {
    log_info("campaign of a client", {{"election", name}, {"worker", id}, {"event", what}});
    const rpc::CallPtr noted = weak.lock();
    if (noted) cluster_.access().wrote(noted, name, {rpc::Code::kOk, id + ": " + what, {}});
  };
  const auto led = [this](bool resumed) {
    Metrics& metrics = cluster_.observer().metrics();
    (resumed ? metrics.terms_resumed : metrics.terms_granted).add();
  };
  // Later: the session itself is at work.
  const std::uint64_t number = ++begun_;
  const auto over = lifetime_.wrap([this, key, number] {
    cluster_.loop().post(lifetime_.wrap([this, key, number] { forget(key, number); }));
  });
  auto session = std::make_unique<ElectionSession>(
      std::move(*terms), ElectionSession::Deps{cluster_, call, random_(), note, led, over});
  ElectionSession& begun = *session;
  sessions_[key] = {number, std::move(session)};
  begun.start();
}

void ElectionService::forget(const std::string& key, std::uint64_t number) {
  const auto it = sessions_.find(key);
  if (it != sessions_.end() && it->second.number == number) sessions_.erase(it);
}

void ElectionService::Leader(const rpc::CallPtr& call, const v1::LeaderRequest& request) {
  if (Status s = check(request); !s) return call->finish(rpc::to_status(s.error()));
  cluster_.read(call, true, [this, call, request] {
    const std::string start = request.prefix().empty() ? "" : request.prefix() + "/";
    const cluster::ClusterState& state = cluster_.state();
    const cluster::KvEntry* entry = state.kv().find(start + NamespaceKeys(request.name()).state);
    if (entry == nullptr) {
      return call->finish(
          {rpc::Code::kNotFound, "the election \"" + request.name() + "\" does not exist", {}});
    }
    const auto decoded = decode_leader_state(*entry->value);
    if (!decoded) return call->finish(rpc::to_status(decoded.error()));
    const Duration age = state.topology().log_time() - entry->written_at;
    rpc::reply(call, seen_term(request.name(), *decoded, age, cluster_.loop().now()).leader);
  });
}

void ElectionService::Observe(const rpc::CallPtr& call, const v1::LeaderRequest& request) {
  if (call->over()) return;
  if (Status s = check(request); !s) return call->finish(rpc::to_status(s.error()));
  if (!cluster_.access().open_watch(call)) return;
  auto follower = std::make_shared<Follower>(cluster_, call, request);
  followers_.insert(follower);
  call->on_over(lifetime_.wrap([this, weak = std::weak_ptr(follower)] {
    // Later: it may be the follower itself that has ended the call.
    cluster_.loop().post(lifetime_.wrap([this, weak] { followers_.erase(weak.lock()); }));
  }));
  follower->start();
}

void ElectionService::close() {
  for (const auto& follower : std::set(followers_)) follower->end();
  for (const auto& [key, each] : sessions_) {
    each.session->end(
        {rpc::Code::kUnavailable, "this server is stopping; go on at another one", {}});
  }
}

}  // namespace muster::server
