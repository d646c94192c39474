// What watchers were told, against the log.

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "tests/sim/cluster/invariants.h"
#include "tests/sim/cluster/invariants_words.h"

namespace muster::sim {
namespace {

using membership::EventKind;

constexpr std::string_view kStorePrefix = "k";

}  // namespace

// A watch of the topology begins where it was asked to, or with everything, and has no gap: it
// tells every change of what is watched, and each message continues from the version of the one
// before.
void Invariants::watch_began(const std::string& watcher, const std::string& services,
                             TopologyVersion since) {
  watching_[watcher] = {services, since, since == TopologyVersion(0)};
}

void Invariants::watch_heard(const std::string& watcher, const client::TopologyUpdate& update) {
  Watching& watching = watching_[watcher];
  const std::string what = watcher + " at version " + number(watching.at.value()) + " was sent ";
  if (std::holds_alternative<client::FullSync>(update.what)) {
    watching = {watching.services, update.version, false};
    return;
  }
  if (watching.full_sync_due) return violate(what + "something else than the whole it was due");
  if (std::holds_alternative<client::Lagged>(update.what)) {
    watching.full_sync_due = true;
    return;
  }
  const bool keepalive = std::holds_alternative<client::Keepalive>(update.what);
  const std::uint64_t due = next_version(watching.services, watching.at.value());
  const std::uint64_t to = update.version.value();
  // A keepalive may pass over what is not watched, but not over what is.
  const bool one = watching.services == "search";
  const bool quiet =
      one ? to >= watching.at.value() && to < versions_.size() && (due == 0 || to < due)
          : to == watching.at.value();
  if (update.previous_version != watching.at || (keepalive ? !quiet : due == 0 || to != due)) {
    return violate(what + "the change from " + number(update.previous_version.value()) + " to " +
                   number(to));
  }
  watching.at = update.version;
  if (keepalive) return;
  const Version& version = versions_[to];
  const auto same = [&](EventKind kind, const client::Node& node) {
    if (version.kind != kind || version.node != node.id)
      violate(what + "another change than is due");
  };
  if (const auto* added = std::get_if<client::NodeAdded>(&update.what)) {
    same(EventKind::kNodeAdded, added->node);
  } else if (const auto* updated = std::get_if<client::NodeUpdated>(&update.what)) {
    same(EventKind::kNodeUpdated, updated->node);
  } else if (const auto* removed = std::get_if<client::NodeRemoved>(&update.what)) {
    same(EventKind::kNodeRemoved, removed->node);
  }
}

// What a client makes of its watch is the servers' topology at that version, its rings included.
void Invariants::view_shown(const std::string& watcher, const client::TopologyView& view) {
  const std::uint64_t version = view.version().value();
  if (version >= versions_.size()) {
    return violate(watcher + " shows version " + number(version) + ", which the log does not have");
  }
  if (version == 0) return;
  const std::string& watched = watching_[watcher].services;
  Summary nodes;
  view.for_each([&](const client::Node& n) { add_node(nodes, n.id, n, service_of(n)); });
  Summary owners;
  const auto add = [&](std::string_view service) {
    for (const std::string_view key : kSampleKeys) {
      const client::Owners found = view.owners(key, service);
      for (std::size_t k = 0; k < found.size(); ++k) owners.add(found[k].id.value());
      owners.add(";");
    }
  };
  for (const auto& [service, ring] : rings_) {
    if (watched == service || watched == "*") add(service);
  }
  const Shown& due = versions_[version].shown.at(watched);
  if (nodes.value() != due.nodes) {
    violate(watcher + " shows other nodes at version " + number(version) + " than the log");
  }
  if (owners.value() != due.owners) {
    violate(watcher + " shows other owners at version " + number(version) + " than the log");
  }
}

// A watch of the store tells every change, in order, or says that it has missed some.
void Invariants::store_watch_began(const std::string& watcher, std::uint64_t after) {
  store_watching_[watcher] = after == 0 ? std::nullopt : std::optional(after);
}

void Invariants::store_watch_heard(const std::string& watcher,
                                   const std::vector<StoreEvent>& events, bool reset,
                                   std::uint64_t revision) {
  std::optional<std::uint64_t>& at = store_watching_[watcher];
  if (at && !reset) {
    std::vector<StoreEvent> due;
    for (const StoreEvent& event : store_events_) {
      if (event.revision > *at && event.revision <= revision && event.key.starts_with(kStorePrefix))
        due.push_back(event);
    }
    if (due != events) {
      violate(watcher + " was told " + number(events.size()) + " changes of the store from " +
              number(*at) + " to " + number(revision) + ", and there were " + number(due.size()));
    }
  }
  at = revision;
}

}  // namespace muster::sim
