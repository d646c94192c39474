#include "server/api/store_hub.h"

#include <utility>
#include <vector>

#include "muster/v1/store.pb.h"
#include "server/api/convert.h"
#include "server/rpc/message.h"

namespace muster::server {

struct StoreHub::Watcher {
  Watcher(Loop& loop, rpc::CallPtr c, std::string p, cluster::KvRevision after)
      : call(std::move(c)), prefix(std::move(p)), revision(after), keepalive(loop) {}
  rpc::CallPtr call;
  std::string prefix;
  cluster::KvRevision revision;  ///< Everything up to here has been sent, or is of no concern.
  bool writing = false;
  bool greet = true;    ///< Say where the watch stands, although there may be nothing to tell.
  std::string history;  ///< Until it was told.
  Timer keepalive;
};

StoreHub::StoreHub(Loop& loop, const cluster::ClusterState& state, Options options)
    : loop_(loop), state_(state), options_(options) {}

StoreHub::~StoreHub() {
  for (const Shared& watcher : watchers_) watcher->call->on_over({});
}

void StoreHub::watch(const rpc::CallPtr& call, std::string prefix, cluster::KvRevision after,
                     std::string history) {
  if (call->over()) return;
  const cluster::KvRevision from = after == 0 ? state_.kv().revision() : after;
  auto watcher = std::make_shared<Watcher>(loop_, call, std::move(prefix), from);
  watcher->history = std::move(history);
  watchers_.insert(watcher);
  call->on_over([this, weak = std::weak_ptr(watcher)] {
    if (const Shared gone = weak.lock()) {
      gone->keepalive.cancel();
      watchers_.erase(gone);
    }
  });
  pump(watcher);
}

void StoreHub::publish() {
  if (state_.kv().revision() == published_) return;
  published_ = state_.kv().revision();
  const std::vector<Shared> all(watchers_.begin(), watchers_.end());
  for (const Shared& watcher : all) pump(watcher);
}

void StoreHub::close() {
  const std::vector<Shared> all(watchers_.begin(), watchers_.end());
  for (const Shared& watcher : all) {
    watcher->call->finish(
        {rpc::Code::kUnavailable, "this server is stopping; watch another server", {}});
  }
}

void StoreHub::pump(const Shared& watcher) {
  if (watcher->writing || watcher->call->over()) return;
  const cluster::VersionedKv& kv = state_.kv();
  v1::StoreWatchResponse response;
  if (!kv.remembers(watcher->revision) || watcher->revision > kv.revision()) {
    response.set_reset(true);
    watcher->revision = kv.revision();
  } else {
    std::size_t bytes = 0;
    kv.replay(watcher->revision, [&](const cluster::KvEvent& event) {
      watcher->revision = event.entry.revision;
      if (!event.key.starts_with(watcher->prefix)) return true;
      to_proto(event, *response.add_events());
      bytes += event.removed() ? event.key.size() : event.key.size() + event.entry.value->size();
      return static_cast<std::size_t>(response.events_size()) < options_.response_events &&
             bytes < options_.response_bytes;
    });
  }
  if (response.events_size() == 0 && !response.reset() && !watcher->greet) return;
  watcher->greet = false;
  response.set_revision(watcher->revision);
  response.set_history(std::exchange(watcher->history, {}));
  send(watcher, rpc::to_payload(response));
}

void StoreHub::send(const Shared& watcher, rpc::Payload response) {
  watcher->writing = true;
  watcher->call->write(std::move(response), [this, weak = std::weak_ptr(watcher)] {
    const Shared here = weak.lock();
    if (!here) return;
    here->writing = false;
    here->keepalive.arm(options_.keepalive, [this, weak] {
      if (const Shared quiet = weak.lock()) {
        quiet->greet = true;
        pump(quiet);
      }
    });
    pump(here);
  });
}

}  // namespace muster::server
