#include "client/topology_watch.h"

#include <utility>

#include "client/watch_session.h"

namespace muster::client {

/// What the loop writes and other threads read.
struct TopologyWatch::Shared {
  Published<TopologyView> published{std::make_shared<const TopologyView>()};
  std::promise<void> first;
  std::shared_future<void> synced{first.get_future()};
  bool is_synced = false;  ///< Of the loop.
};

class TopologyWatch::Session {
 public:
  Session(Caller& caller, const WatchConfig& config, WatchCallback callback,
          std::shared_ptr<Shared> shared)
      : callback_(std::make_shared<WatchCallback>(std::move(callback))),
        shared_(std::move(shared)),
        session_(caller, config, [this](const WatchEvent& event) { on_event(event); }) {}

 private:
  void on_event(const WatchEvent& event) {
    // Published first: a listener that learns of a version can read it.
    shared_->published.set(event.view);
    if (event.kind == WatchEventKind::kSnapshot && !std::exchange(shared_->is_synced, true)) {
      shared_->first.set_value();
    }
    // Held meanwhile: it may destroy the watch, and this with it.
    const std::shared_ptr<WatchCallback> callback = callback_;
    if (*callback) (*callback)(event, event.view->version());
  }

  std::shared_ptr<WatchCallback> callback_;
  std::shared_ptr<Shared> shared_;
  WatchSession session_;
};

TopologyWatch::TopologyWatch(Client& client, const WatchConfig& config, WatchCallback callback)
    : runtime_(client.runtime()), shared_(std::make_shared<Shared>()) {
  runtime_.run([&] {
    session_ = std::make_unique<Session>(runtime_.caller(), config, std::move(callback), shared_);
  });
}

TopologyWatch::~TopologyWatch() {
  runtime_.run([this] { session_.reset(); });
}

bool TopologyWatch::wait_for_topology(Duration limit) {
  return shared_->synced.wait_for(limit) == std::future_status::ready;
}

std::shared_ptr<const TopologyView> TopologyWatch::view() const {
  return shared_->published.snapshot();
}

TopologyReader TopologyWatch::reader() const {
  return shared_->published.reader();
}

Result<std::unique_ptr<TopologyWatch>> watch_topology_with_recovery(Client& client,
                                                                    const WatchConfig& config,
                                                                    WatchCallback callback) {
  if (Status status = config.validate(); !status) return status.error();
  return std::make_unique<TopologyWatch>(client, config, std::move(callback));
}

}  // namespace muster::client
