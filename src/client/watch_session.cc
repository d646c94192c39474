#include "client/watch_session.h"

#include <utility>

#include "client/wire.h"

namespace muster::client {

WatchSession::WatchSession(Caller& caller, const WatchConfig& config, Listener listener)
    : caller_(caller),
      listener_(std::move(listener)),
      services_(config.services),
      machine_(config, Random(caller.random().next())),
      timer_(caller.loop()) {
  open();
}

void WatchSession::open() {
  server_ = caller_.board().choose(Aim::kAny, {});
  const TopologyVersion since = machine_.begin(caller_.loop().now());
  StreamEvents events;
  events.message = [this](const std::string& body) { on_message(body); };
  events.end = [this](const RpcStatus& status) {
    on_end(status.ok() ? server_ + " ended the watch"
                       : to_error(status, server_, Effect::kRead).message);
  };
  stream_ = caller_.connection(server_).stream("/muster.v1.CoordinatorService/WatchTopology", {},
                                               std::move(events));
  stream_->send(encode_watch(since, machine_.history(), services_));
  stream_->close();
  watch_silence();
}

void WatchSession::watch_silence() {
  timer_.arm(machine_.silent_at(), [this] { on_end(server_ + " has fallen silent"); });
}

bool WatchSession::deliver(const std::vector<WatchEvent>& events) {
  const std::weak_ptr<int> alive = lifetime_.token();
  for (const WatchEvent& event : events) {
    listener_(event);
    if (alive.expired()) return false;
  }
  return true;
}

void WatchSession::on_message(const std::string& body) {
  const auto update = decode_update(body);
  if (!update) return on_end(server_ + ": " + update.error().message);
  std::vector<WatchEvent> events;
  const bool good = machine_.receive(*update, caller_.loop().now(), events);
  if (good) {
    caller_.board().answered(server_);
    told_ = false;
  }
  if (!deliver(events)) return;
  if (!good) return on_end(server_ + ": " + machine_.reason());
  watch_silence();
}

void WatchSession::on_end(const std::string& reason) {
  stream_.reset();
  // Another server next time, if there is one.
  caller_.board().failed(server_);
  timer_.arm(machine_.end(caller_.loop().now()), [this] { open(); });
  if (std::exchange(told_, true)) return;
  (void)deliver({{WatchEventKind::kDisconnected, machine_.cache().view(), {}, reason}});
}

}  // namespace muster::client
