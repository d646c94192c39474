#include "core/client/watch_machine.h"

#include <algorithm>
#include <utility>

#include "core/client/retry_plan.h"

namespace muster::client {

Status WatchConfig::validate() const {
  if (silence_max <= 0ms || first_message_max <= 0ms || behind_max < 0ms) {
    return {Errc::kInvalid, "silence_max and first_message_max must be above zero"};
  }
  if (first_delay <= 0ms || delay_max < first_delay || !(jitter >= 0 && jitter < 1)) {
    return {Errc::kInvalid,
            "first_delay must be above zero and at most delay_max, jitter from 0 to below 1"};
  }
  return Done{};
}

const char* to_string(WatchEventKind kind) {
  switch (kind) {
    case WatchEventKind::kSnapshot:
      return "snapshot";
    case WatchEventKind::kNodeAdded:
      return "node_added";
    case WatchEventKind::kNodeUpdated:
      return "node_updated";
    case WatchEventKind::kNodeRemoved:
      return "node_removed";
    case WatchEventKind::kRingChanged:
      return "ring_changed";
    case WatchEventKind::kLagged:
      return "lagged";
    case WatchEventKind::kDisconnected:
      return "disconnected";
  }
  return "unknown";
}

TopologyVersion WatchMachine::begin(MonoTime now) {
  heard_ = false;
  heard_at_ = now;
  return synced_ ? cache_.version() : TopologyVersion(0);
}

MonoTime WatchMachine::silent_at() const {
  return heard_at_ + (synced_ ? config_.silence_max : config_.first_message_max);
}

bool WatchMachine::receive(const TopologyUpdate& given, MonoTime now,
                           std::vector<WatchEvent>& events) {
  const TopologyUpdate update = cache_.narrowed(given);
  heard_at_ = now;
  if (std::holds_alternative<FullSync>(update.what)) return receive_sync(update, now, events);
  if (const auto* lagged = std::get_if<Lagged>(&update.what)) {
    synced_ = false;
    heard_ = true;
    events.push_back({WatchEventKind::kLagged,
                      cache_.view(),
                      {},
                      lagged->message.empty() ? "the watcher read too slowly" : lagged->message});
    return true;
  }
  const bool quiet = std::holds_alternative<Keepalive>(update.what);
  if (quiet && !(synced_ && cache_.leads_on(update))) return heard_ = true;
  Status applied = synced_ ? cache_.apply(update)
                           : Status(Errc::kConflict, "a change came where a full sync was due");
  if (!applied) {
    synced_ = false;
    reason_ = applied.error().message;
    return false;
  }
  heard_ = true;
  behind_since_.reset();
  if (quiet) return true;
  if (const auto* added = std::get_if<NodeAdded>(&update.what)) {
    events.push_back({WatchEventKind::kNodeAdded, cache_.view(), added->node, {}});
  } else if (const auto* updated = std::get_if<NodeUpdated>(&update.what)) {
    events.push_back({WatchEventKind::kNodeUpdated, cache_.view(), updated->node, {}});
  } else if (const auto* removed = std::get_if<NodeRemoved>(&update.what)) {
    events.push_back({WatchEventKind::kNodeRemoved, cache_.view(), removed->node, {}});
  } else {
    events.push_back({WatchEventKind::kRingChanged, cache_.view(), {}, {}});
  }
  return true;
}

bool WatchMachine::receive_sync(const TopologyUpdate& update, MonoTime now,
                                std::vector<WatchEvent>& events) {
  const TopologyImage& image = std::get<FullSync>(update.what).image;
  const TopologyVersion offered = image.version;
  const bool restored = !history_.empty() && !image.history.empty() && image.history != history_;
  if (offered < cache_.version() && !restored) {
    if (!behind_since_) behind_since_ = now;
    if (now - *behind_since_ < config_.behind_max) {
      reason_ = "the server is at version " + std::to_string(offered.value()) +
                ", behind version " + std::to_string(cache_.version().value()) +
                " that was seen already";
      return false;
    }
  }
  behind_since_.reset();
  // The same version brings nothing new, unless changes were missed or refused before.
  const bool news = !synced_ || restored || offered != cache_.version();
  const Status applied = cache_.apply(update);
  history_ = image.history;
  synced_ = applied.ok();
  heard_ = true;
  if (news) events.push_back({WatchEventKind::kSnapshot, cache_.view(), {}, {}});
  return synced_;
}

MonoTime WatchMachine::end(MonoTime now) {
  failures_ = heard_ ? 0 : failures_ + 1;
  heard_ = false;
  Duration delay = config_.first_delay;
  for (int i = 1; i < failures_ && delay < config_.delay_max; ++i) delay *= 2;
  return now + jittered(std::min(delay, config_.delay_max), config_.jitter, random_);
}

}  // namespace muster::client
