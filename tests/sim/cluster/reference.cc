#include "tests/sim/cluster/reference.h"

#include <utility>

#include "core/log/manifest.h"
#include "server/cluster/replicated_state.h"
#include "tests/sim/cluster/summary.h"

namespace muster::sim {
namespace {

void add(const membership::NodeEntry& node, Summary& summary) {
  summary.add(node.id.value());
  summary.add(node.generation.value());
  summary.add(static_cast<std::uint64_t>(node.state));
  summary.add(node.state_since);
  summary.add(node.registered_at);
  summary.add(node.last_heartbeat_at);
  summary.add(node.heartbeats);
  summary.add(node.slot);
  summary.add(node.registration);
  summary.add(node.suspect_count);
  summary.add(static_cast<std::uint64_t>(node.drain_requested));
  summary.add(membership::service_of(node));
  for (const auto& [key, value] : node.tags) {
    summary.add(key);
    summary.add(value);
  }
}

/// A decision without what its leader's wall clock labelled it with.
std::string describe(const cluster::Decision& d, TrueTime at) {
  const auto ms = [](Duration duration) { return std::to_string(to_ms(duration)) + " ms"; };
  std::string text = ms(at) + ": " + to_string(d.kind) + " of " + d.subject + " from \"" + d.from +
                     "\" to \"" + d.to + "\" (" + to_string(d.why) + "), epoch " +
                     std::to_string(d.epoch);
  if (!d.cause) return text;
  return text + ", silent for " + ms(d.cause->silence) + " of " +
         ms(d.cause->timeouts.suspect_after) + " and " + ms(d.cause->timeouts.down_after) +
         ", suspected " + std::to_string(d.cause->timeouts.recent_suspicions) + " times, " +
         std::to_string(d.cause->down_in_use) + " of " + std::to_string(d.cause->down_allowed) +
         " down";
}

}  // namespace

std::uint64_t digest(const cluster::ClusterState& state) {
  Summary summary;
  const membership::Topology& topology = state.topology();
  summary.add(topology.version().value());
  summary.add(topology.log_time());
  for (const membership::Calendar::Mark& mark : topology.calendar().marks()) {
    summary.add(mark.time);
    summary.add(mark.wall);
  }
  summary.add(topology.registrations());
  summary.add(topology.ring().virtual_nodes_per_physical);
  topology.for_each([&](const membership::NodeEntry& node) { add(node, summary); });
  for (const membership::Departed& left : topology.departed()) {
    summary.add(left.id.value());
    summary.add(left.generations.back().value());
  }
  for (const auto& [id, version] : topology.drains()) {
    summary.add(id.value());
    summary.add(version.value());
  }
  summary.add(state.kv().revision());
  state.kv().scan("", "", [&](const std::string& key, const cluster::KvEntry& entry) {
    summary.add(key);
    summary.add(*entry.value);
    summary.add(entry.revision);
    return true;
  });
  for (const auto& [id, server] : state.servers()) {
    summary.add(id);
    summary.add(server.address);
  }
  return summary.value();
}

Reference::Reference(World& world, std::shared_ptr<SharedStore> store, LogListener listener)
    : world_(world), store_(std::move(store)), listener_(std::move(listener)) {
  subscription_ =
      store_->objects->subscribe([this](const MemoryObjects::Change& change) { changed(change); });
}

Reference::~Reference() {
  store_->objects->unsubscribe(subscription_);
}

void Reference::sending(const Key& key, const std::string& body) {
  if (keys_.entry_of(key)) sent_.emplace(body, world_.now());
}

std::optional<std::uint64_t> Reference::digest_at(std::uint64_t index) const {
  if (index >= digests_.size()) return {};
  return digests_[index];
}

void Reference::changed(const MemoryObjects::Change& change) {
  if (change.removed) return;
  const std::string& body = store_->objects->entries().at(change.key).body;
  if (change.key == keys_.manifest() && !begun_) {
    const auto manifest = rlog::decode_manifest(body);
    if (!manifest)
      return listener_.violate("the manifest cannot be read: " + manifest.error().message);
    begun_ = true;
    position_ = rlog::beginning(manifest->origin);
    digests_.push_back(digest(state_));
    sent_at_.push_back(world_.now());
  }
  const auto index = keys_.entry_of(change.key);
  if (!index) return;
  if (*index != rlog::next(position_.index)) {
    return listener_.violate("entry " + std::to_string(index->value()) + " was written after " +
                             std::to_string(position_.index.value()));
  }
  apply(body);
}

void Reference::apply(const std::string& body) {
  const auto entry = rlog::decode_entry(body);
  if (!entry) return listener_.violate("an entry cannot be read: " + entry.error().message);
  const auto verdict = rlog::judge(position_, *entry);
  if (!verdict) return listener_.violate("an entry does not follow: " + verdict.error().message);
  rlog::advance(position_, *entry, *verdict);
  const auto sent = sent_.find(body);
  sent_at_.push_back(sent == sent_.end() ? world_.now() : sent->second);
  if (*verdict == rlog::Verdict::kVoid) {
    digests_.push_back(digest(state_));
    return;
  }
  const Committed committed{entry->header, world_.now(), sent_at_.back(), *(sent_at_.end() - 2)};
  listener_.entry(committed);
  if (entry->header.kind == rlog::EntryKind::kBarrier) {
    state_.begin_term(server::server_of(entry->header.incarnation), entry->header.epoch,
                      entry->header.time, entry->header.wall);
  }
  state_.pass_time(entry->header.time, entry->header.wall);
  for (std::size_t i = 0; i < entry->commands.size(); ++i) {
    auto command = cluster::decode(entry->commands[i]);
    auto applied =
        state_.apply(entry->commands[i], {entry->header.index.value(), i, entry->header.time});
    if (!command || !applied) return listener_.violate("a command of the log cannot be applied");
    listener_.command(committed, *command, *applied);
  }
  const cluster::DecisionLog& decisions = state_.decisions();
  for (const auto& each : decisions.after(decided_.size(), decisions.newest())) {
    decided_.push_back(describe(*each, world_.now()));
  }
  digests_.push_back(digest(state_));
}

}  // namespace muster::sim
