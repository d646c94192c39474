#include "server/api/local_store.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "server/api/convert.h"
#include "store/muster/verdict.h"
#include "store/remote/numbers.h"

namespace muster::server {
namespace {

/// How long a call waits before it looks for a leader, or for the engine, again.
constexpr Duration kStoreLookInterval = 50ms;
/// A leader is asked for at most so long; then another one may lead.
constexpr Duration kStoreAskLimit = 10s;
constexpr std::uint32_t kListedMax = 1000;
constexpr int kToldMax = 256;

using Found = Result<cluster::KvRevision>;

/// What the leader's answer says about a write that was forwarded.
template <typename Response>
Found forwarded(const rpc::RpcStatus& status, const std::string& answer) {
  if (status.ok()) {
    Response response;
    if (response.ParseFromString(answer)) return response.revision();
    return {Errc::kAmbiguous, "the leader's answer cannot be decoded"};
  }
  rpc::Outcome outcome{status.code, status.message, rpc::Outcome::Word::kServer, {}};
  // Peers reports an answer by anything else as UNKNOWN.
  outcome.trailers.add(rpc::kServerKey, "leader");
  if (!status.leader_address.empty()) outcome.trailers.add(rpc::kLeaderKey, status.leader_address);
  return musterd::judge(outcome, remote::Access::kWrite).error;
}

}  // namespace

/// What every call has. The loop owns the timers' tasks, which own the call.
struct LocalStore::Timed {
  explicit Timed(Loop& loop) : timer(loop), pause(loop) {}
  void cancel() {
    timer.cancel();
    pause.cancel();
  }
  Timer timer;
  Timer pause;
};

/// A call that was not answered yet.
template <typename T>
struct LocalStore::Asked : Timed {
  Asked(Loop& loop, Callback<T> d, Deadline b, bool w)
      : Timed(loop), done(std::move(d)), by(b), writes(w) {}
  Callback<T> done;  ///< Empty once answered.
  Deadline by;
  bool writes;
  bool sent = false;  ///< An attempt is under way: it may be performed.
};

/// A write in both of its forms.
struct LocalStore::Written {
  cluster::Command command;
  const char* method;
  std::string request;
  Found (*read)(const rpc::RpcStatus& status, const std::string& answer);
};

struct LocalStore::Watcher {
  std::string prefix;         ///< Of keys in the replicated state.
  cluster::KvRevision after;  ///< Everything up to here was told, or is of no concern.
  bool lost;                  ///< The caller's cursor was not one of this store.
  std::function<void(const WatchEvent&)> on_event;  ///< Empty once closed.
};

class LocalStore::Handle final : public Watch {
 public:
  explicit Handle(std::shared_ptr<Watcher> watcher) : watcher_(std::move(watcher)) {}
  ~Handle() override { watcher_->on_event = nullptr; }

 private:
  std::shared_ptr<Watcher> watcher_;
};

LocalStore::LocalStore(Cluster& cluster, std::string prefix)
    : cluster_(cluster),
      loop_(cluster.loop()),
      listener_(cluster.listen([this] { publish(); })),
      requests_(std::move(prefix)) {}

LocalStore::~LocalStore() {
  cluster_.forget(listener_);
  for (const auto& watcher : watchers_) watcher->on_event = nullptr;
  // While the loop is there: their tasks may outlive it.
  for (const auto& asked : asked_) asked->cancel();
}

Capabilities LocalStore::capabilities() const {
  return {.watch = true, .guarded_put = true, .conditional_remove = true, .multi_key_order = true};
}

template <typename T>
LocalStore::Shared<T> LocalStore::begin(Deadline by, bool writes, Callback<T> done) {
  auto asked = std::make_shared<Asked<T>>(loop_, std::move(done), by, writes);
  asked_.insert(asked);
  // The timer owns the call: whatever happens to the attempt, the caller hears something.
  asked->timer.arm(by, lifetime_.wrap([this, asked] {
    if (asked->writes && asked->sent) {
      return end<T>(asked, Error{Errc::kAmbiguous, "the write may have landed: no answer in time"});
    }
    end<T>(asked, Error{Errc::kUnavailable, "no server could answer in time"});
  }));
  return asked;
}

template <typename T>
void LocalStore::end(const Shared<T>& asked, Result<T> result) {
  asked->cancel();
  asked_.erase(asked);
  if (!asked->done) return;
  // Posted: what the log or the leader answers may come before the call has returned.
  loop_.post(lifetime_.wrap([done = std::exchange(asked->done, nullptr),
                             result = std::move(result)]() mutable { done(std::move(result)); }));
}

template <typename T>
void LocalStore::again(const Shared<T>& asked, const Error& why, std::function<void()> attempt) {
  asked->sent = false;
  if (loop_.now() + kStoreLookInterval >= asked->by) return end<T>(asked, why);
  asked->pause.arm(kStoreLookInterval,
                   lifetime_.wrap([asked, attempt = std::move(attempt)] { attempt(); }));
}

template <typename T>
void LocalStore::refuse(Callback<T> done, Error error) {
  loop_.post(lifetime_.wrap(
      [done = std::move(done), error = std::move(error)]() mutable { done(std::move(error)); }));
}

template <typename T>
void LocalStore::read(Deadline by, Callback<T> done, std::function<Result<T>()> find) {
  if (loop_.now() >= by) {
    return refuse(std::move(done), {Errc::kUnavailable, "the deadline had passed before the call"});
  }
  look<T>(begin<T>(by, /*writes=*/false, std::move(done)), find);
}

template <typename T>
void LocalStore::look(const Shared<T>& asked, const std::function<Result<T>()>& find) {
  cluster_.barrier(lifetime_.wrap([this, asked, find](const Status& status) {
    if (!asked->done) return;
    if (status) return end<T>(asked, find());
    if (status.error().code != Errc::kUnavailable) return end<T>(asked, status.error());
    again<T>(asked, status.error(), [this, asked, find] { look<T>(asked, find); });
  }));
}

template <typename T>
void LocalStore::attempt(const Shared<T>& asked, const std::shared_ptr<const Written>& write) {
  asked->sent = true;
  if (cluster_.term().active()) {
    return cluster_.propose(
        write->command, lifetime_.wrap([this, asked, write](const Result<cluster::Answer>& answer) {
          settle<T>(asked, write, answer ? Found(answer->revision) : Found(answer.error()));
        }));
  }
  // The leader's own word, if it has one, comes before the deadline.
  const Duration left = asked->by - loop_.now();
  cluster_.ask_leader(
      write->method, write->request, std::min(left - left / 8, kStoreAskLimit),
      lifetime_.wrap([this, asked, write](const rpc::RpcStatus& status, const std::string& answer) {
        settle<T>(asked, write, write->read(status, answer));
      }));
}

template <typename T>
void LocalStore::settle(const Shared<T>& asked, const std::shared_ptr<const Written>& write,
                        const Found& outcome) {
  if (outcome) written_ = std::max(written_, *outcome);
  if (!asked->done) return;
  if (outcome) {
    if constexpr (std::is_same_v<T, Revision>) {
      return end<T>(asked, Revision(std::to_string(*outcome)));
    } else {
      return end<T>(asked, Done{});
    }
  }
  if (outcome.error().code != Errc::kUnavailable) return end<T>(asked, outcome.error());
  again<T>(asked, outcome.error(), [this, asked, write] { attempt<T>(asked, write); });
}

void LocalStore::get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) {
  auto request = requests_.get(key, unless);
  if (!request) return refuse(std::move(done), request.error());
  read<Object>(by, std::move(done),
               [this, key = std::move(key), request = std::move(*request)]() -> Result<Object> {
                 const cluster::KvEntry* entry = cluster_.state().kv().find(request.key());
                 if (entry == nullptr) return {Errc::kNotFound, key + " does not exist"};
                 v1::StoreGetResponse response;
                 response.set_unchanged(entry->revision == request.unless_revision());
                 to_proto(request.key(), *entry, cluster_.state().topology().log_time(),
                          !response.unchanged(), *response.mutable_object());
                 return musterd::Requests::got(key, std::move(response));
               });
}

void LocalStore::put(Key key, std::string body, Precondition when, Deadline by,
                     Callback<Revision> done) {
  write(requests_.put(key, std::move(body), when, std::nullopt), by, std::move(done));
}

void LocalStore::guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                             Callback<Revision> done) {
  write(requests_.put(key, std::move(body), when, guard), by, std::move(done));
}

void LocalStore::write(const Result<v1::StorePutRequest>& request, Deadline by,
                       Callback<Revision> done) {
  if (!request) return refuse(std::move(done), request.error());
  if (loop_.now() >= by) {
    return refuse(std::move(done), {Errc::kUnavailable, "the deadline had passed before the call"});
  }
  const auto command = to_command(*request);
  if (!command) return refuse(std::move(done), command.error());
  attempt<Revision>(begin<Revision>(by, /*writes=*/true, std::move(done)),
                    std::make_shared<const Written>(Written{*command, "/muster.v1.StoreService/Put",
                                                            request->SerializeAsString(),
                                                            &forwarded<v1::StorePutResponse>}));
}

void LocalStore::remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) {
  const auto request = requests_.remove(key, when);
  if (!request) return refuse(std::move(done), request.error());
  if (loop_.now() >= by) {
    return refuse(std::move(done), {Errc::kUnavailable, "the deadline had passed before the call"});
  }
  attempt<Done>(begin<Done>(by, /*writes=*/true, std::move(done)),
                std::make_shared<const Written>(
                    Written{to_command(*request), "/muster.v1.StoreService/Remove",
                            request->SerializeAsString(), &forwarded<v1::StoreRemoveResponse>}));
}

void LocalStore::list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) {
  const auto request = requests_.list(prefix, from, kListedMax);
  if (!request) return refuse(std::move(done), request.error());
  read<ListPage>(by, std::move(done), [this, request = *request, from]() -> Result<ListPage> {
    return page(request, from);
  });
}

ListPage LocalStore::page(const v1::StoreListRequest& request, const std::string& from) const {
  const cluster::ClusterState& state = cluster_.state();
  v1::StoreListResponse response;
  response.set_revision(state.kv().revision());
  state.kv().scan(request.prefix(), request.after(),
                  [&](const std::string& key, const cluster::KvEntry& entry) {
                    if (static_cast<std::uint32_t>(response.objects_size()) >= request.limit()) {
                      response.set_more(true);
                      return false;
                    }
                    to_proto(key, entry, state.topology().log_time(), /*with_value=*/false,
                             *response.add_objects());
                    return true;
                  });
  return requests_.listed(from, response);
}

std::unique_ptr<Watch> LocalStore::watch(std::string prefix, std::string cursor,
                                         std::function<void(const WatchEvent&)> on_event) {
  const auto from = remote::to_number(cursor);
  const auto watcher =
      std::make_shared<Watcher>(Watcher{requests_.watch(prefix, 0, {}).prefix(),
                                        from ? static_cast<cluster::KvRevision>(*from)
                                             : std::max(cluster_.state().kv().revision(), written_),
                                        !cursor.empty() && !from, std::move(on_event)});
  watchers_.push_back(watcher);
  publish();
  return std::make_unique<Handle>(watcher);
}

void LocalStore::publish() {
  if (pumping_ || watchers_.empty()) return;
  pumping_ = true;
  loop_.post(lifetime_.wrap([this] { pump(); }));
}

void LocalStore::pump() {
  pumping_ = false;
  std::erase_if(watchers_, [](const auto& watcher) { return !watcher->on_event; });
  for (const auto& watcher : std::vector(watchers_)) pump(watcher);
}

void LocalStore::pump(const std::shared_ptr<Watcher>& watcher) {
  const cluster::VersionedKv& kv = cluster_.state().kv();
  const cluster::KvRevision after = watcher->after;
  if (watcher->lost || !kv.remembers(after)) {
    watcher->lost = false;
    watcher->after = std::max(after, kv.revision());
    return tell(watcher, {WatchEvent::Kind::kReset,
                          {},
                          {},
                          std::to_string(musterd::Requests::position(watcher->after))});
  }
  v1::StoreWatchResponse response;
  bool more = false;
  kv.replay(after, [&](const cluster::KvEvent& event) {
    if (response.events_size() >= kToldMax) {
      more = true;
      return false;
    }
    watcher->after = event.entry.revision;
    if (event.key.starts_with(watcher->prefix)) to_proto(event, *response.add_events());
    return true;
  });
  // The state may change while its events are told: they are copies.
  for (const WatchEvent& event :
       requests_.events(std::move(response), static_cast<std::int64_t>(after))) {
    tell(watcher, event);
  }
  if (more) publish();
}

void LocalStore::tell(const std::shared_ptr<Watcher>& watcher, const WatchEvent& event) {
  // A copy: the caller may end the watch, which lets go of the function, from within it.
  const auto on_event = watcher->on_event;
  if (on_event) on_event(event);
}

}  // namespace muster::server
