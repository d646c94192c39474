#include <algorithm>
#include <utility>

#include "muster/v1/store.pb.h"
#include "server/gateway/election_json.h"
#include "server/gateway/feed.h"

namespace muster::server {
namespace {

constexpr const char* kStoreWatch = "/muster.v1.StoreService/Watch";
constexpr const char* kStoreGet = "/muster.v1.StoreService/Get";

/// The state of one election, as the store's watch tells it. Where the watch has nothing to replay,
/// at first and after a reset, the state is read once the watch is in force, so nothing is missed
/// in between.
class ElectionFeed final : public Feed {
 public:
  ElectionFeed(Parts parts, std::string name, std::string key)
      : Feed(std::move(parts)), name_(std::move(name)), key_(std::move(key)) {}

 protected:
  CallOrder watch() override {
    v1::StoreWatchRequest request;
    request.set_prefix(key_);
    request.set_after_revision(position().version);
    request.set_history(position().history);
    wants_state_ = position().version == 0;
    return parts().order(kStoreWatch, request);
  }

  void handle(const rpc::Payload& message) override {
    v1::StoreWatchResponse changes;
    if (!changes.ParseFromString(*message)) {
      return end({rpc::Code::kInternal, "a change of the store cannot be decoded", {}});
    }
    if (!changes.history().empty()) position().history = changes.history();
    if (changes.reset() || std::exchange(wants_state_, false)) return read(changes.revision());
    std::string events;
    for (const v1::StoreEvent& change : changes.events()) {
      const v1::StoreObject& object = change.object();
      if (object.key() != key_ || object.revision() <= position().version) continue;
      position().version = object.revision();
      events += change.removed() ? removed() : event("election", election_json(name_, object));
    }
    position().version = std::max(position().version, changes.revision());
    send(events.empty() ? keepalive() : events);
  }

 private:
  void read(std::uint64_t revision) {
    v1::StoreGetRequest request;
    request.set_key(key_);
    const std::weak_ptr<Feed> weak = weak_from_this();
    parts().line.call(
        parts().order(kStoreGet, request),
        [this, weak, revision](const rpc::RpcStatus& status, const rpc::Payload& answer) {
          if (const auto here = weak.lock()) show(revision, status, answer);
        });
  }

  void show(std::uint64_t revision, const rpc::RpcStatus& status, const rpc::Payload& answer) {
    position().version = revision;
    if (status.code == rpc::Code::kNotFound) return send(removed());
    if (!status.ok()) return end(status);
    v1::StoreGetResponse response;
    if (!answer || !response.ParseFromString(*answer)) {
      return end({rpc::Code::kInternal, "an answer of the store cannot be decoded", {}});
    }
    // The watch tells it again if it came in between.
    position().version = std::max(revision, response.object().revision());
    send(event("election", election_json(name_, response.object())));
  }

  std::string removed() { return event("removed", {{"name", name_}}); }

  const std::string name_;
  const std::string key_;
  bool wants_state_ = false;
};

}  // namespace

std::shared_ptr<Feed> election_feed(Feed::Parts parts, const std::string& name,
                                    const std::string& key) {
  return std::make_shared<ElectionFeed>(std::move(parts), name, key);
}

}  // namespace muster::server
