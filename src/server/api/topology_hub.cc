#include "server/api/topology_hub.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "muster/v1/coordinator.pb.h"
#include "server/api/convert.h"
#include "server/rpc/message.h"

namespace muster::server {
namespace {

/// Many watchers come at once after a server was lost; heartbeats alone do not make them each a
/// topology of their own.
constexpr Duration kFullKept = 1s;
/// What the loop's other work may have to wait for a change that goes to thousands.
constexpr Duration kPumpedFor = 1ms;
constexpr std::size_t kPumpedAtOnce = 256;
/// Filters whose whole topology is kept for a moment.
constexpr std::size_t kFullsMax = 16;

v1::TopologyUpdate head(std::uint64_t version, std::uint64_t previous_version) {
  v1::TopologyUpdate update;
  update.set_version(version);
  update.set_previous_version(previous_version);
  return update;
}

v1::TopologyUpdate to_update(const membership::Event& event, const membership::Topology& topology) {
  v1::TopologyUpdate update = head(event.version.value(), event.previous_version.value());
  switch (event.kind) {
    case membership::EventKind::kNodeAdded:
      to_proto(event.node, topology, *update.mutable_node_added());
      break;
    case membership::EventKind::kNodeUpdated:
      to_proto(event.node, topology, *update.mutable_node_updated());
      break;
    case membership::EventKind::kNodeRemoved:
      to_proto(event.node, topology, *update.mutable_node_removed());
      break;
    case membership::EventKind::kRingConfigChanged:
      to_proto(event.ring, *update.mutable_ring_changed());
      break;
  }
  return update;
}

}  // namespace

struct TopologyHub::Watcher {
  Watcher(Loop& loop, rpc::CallPtr c, std::uint64_t since, membership::ServiceFilter wanted)
      : call(std::move(c)),
        connection(call->connection()),
        services(std::move(wanted)),
        position(since),
        version(since),
        keepalive(loop) {}
  rpc::CallPtr call;
  std::uint64_t connection;
  membership::ServiceFilter services;
  std::uint64_t position;  ///< Nothing up to here is due.
  std::uint64_t version;   ///< What the client has once all that was sent has arrived.
  bool writing = false;
  bool wants_full = false;
  MonoTime sent{};  ///< When the last write was done.
  Timer keepalive;
};

bool TopologyHub::ByConnection::operator()(const Shared& a, const Shared& b) const {
  return std::tie(a->connection, a) < std::tie(b->connection, b);
}

TopologyHub::TopologyHub(Loop& loop, const cluster::ClusterState& state, FullSync full_sync,
                         Options options)
    : loop_(loop),
      state_(state),
      full_sync_(std::move(full_sync)),
      options_(std::move(options)),
      due_timer_(loop) {}

TopologyHub::~TopologyHub() {
  for (const Shared& watcher : watchers_) watcher->call->on_over({});
}

void TopologyHub::watch(const rpc::CallPtr& call, std::uint64_t since,
                        membership::ServiceFilter services) {
  if (call->over()) return;
  auto watcher = std::make_shared<Watcher>(loop_, call, since, std::move(services));
  watchers_.insert(watcher);
  // T17: whatever ends the call, its place is given back.
  call->on_over([this, weak = std::weak_ptr(watcher)] {
    if (const Shared gone = weak.lock()) {
      gone->keepalive.cancel();
      watchers_.erase(gone);
    }
  });
  // A version from after our time is of another history, or of none.
  watcher->wants_full = since == 0 || since < reaches_back_to() || since > version();
  // The client learns at once that it is watching, also if nothing that it watches has changed.
  if (!pump(watcher)) send_keepalive(watcher);
}

std::uint64_t TopologyHub::reaches_back_to() const {
  return history_.empty() ? version() : history_.front().version - 1;
}

void TopologyHub::publish(const std::vector<membership::Event>& events) {
  if (events.empty()) return;
  for (const membership::Event& event : events) {
    history_.push_back(describe(event, state_.topology()));
    history_bytes_ += history_.back().bytes();
  }
  forget_old();
  pump_all();
}

TopologyHub::Change TopologyHub::describe(const membership::Event& event,
                                          const membership::Topology& topology) {
  Change change{.version = event.version.value(),
                .previous_version = event.previous_version.value(),
                .update = rpc::to_payload(to_update(event, topology))};
  const v1::TopologyUpdate versions = head(change.version, change.previous_version);
  change.head_bytes = versions.ByteSizeLong();
  if (event.kind == membership::EventKind::kRingConfigChanged) return change;
  change.service = Service{event.node.type, event.node.service};
  if (!event.before) return change;
  change.before = Service{event.before->type, event.before->service};
  v1::TopologyUpdate update = versions;
  to_proto(*event.before, topology, *update.mutable_node_removed());
  change.removed = rpc::to_payload(update);
  to_proto(event.node, topology, *update.mutable_node_added());
  change.added = rpc::to_payload(update);
  return change;
}

rpc::Payload TopologyHub::message(const Change& change, const membership::ServiceFilter& services) {
  if (!change.service) return change.update;
  const bool here = services.contains(change.service->type, change.service->name);
  if (!change.before) return here ? change.update : nullptr;
  const bool was_here = services.contains(change.before->type, change.before->name);
  if (here) return was_here ? change.update : change.added;
  return was_here ? change.removed : nullptr;
}

void TopologyHub::pump_all() {
  again_ = !due_.empty();
  if (again_) return;
  due_.assign(watchers_.begin(), watchers_.end());
  pump_next();
}

void TopologyHub::pump_next() {
  const MonoTime end = loop_.now() + kPumpedFor;
  for (std::size_t i = 0; i < kPumpedAtOnce && !due_.empty() && loop_.now() < end; ++i) {
    const Shared watcher = due_.back().lock();
    due_.pop_back();
    if (watcher) pump(watcher);
  }
  if (due_.empty() && std::exchange(again_, false)) due_.assign(watchers_.begin(), watchers_.end());
  if (!due_.empty()) due_timer_.arm(Duration::zero(), [this] { pump_next(); });
}

void TopologyHub::forget_old() {
  while (history_.size() > options_.history_events || history_bytes_ > options_.history_bytes) {
    history_bytes_ -= history_.front().bytes();
    history_.pop_front();
  }
}

void TopologyHub::reset() {
  history_.clear();
  history_bytes_ = 0;
  full_.clear();
  pump_all();
}

void TopologyHub::close() {
  const std::vector<Shared> all(watchers_.begin(), watchers_.end());
  for (const Shared& watcher : all) {
    watcher->call->finish(
        {rpc::Code::kUnavailable, "this server is stopping; watch another server", {}});
  }
}

bool TopologyHub::pump(const Shared& watcher) {
  if (watcher->writing || watcher->call->over()) return true;
  if (watcher->wants_full) return send_full(watcher), true;
  while (watcher->position != version()) {
    if (watcher->position < reaches_back_to() || watcher->position > version()) {
      return send_lagged(watcher), true;
    }
    const std::size_t next = watcher->position - reaches_back_to();
    // A history that does not lead on from here is of another state than the one we have.
    if (next >= history_.size() || history_[next].version != watcher->position + 1) {
      return send_lagged(watcher), true;
    }
    const Change& change = history_[next];
    watcher->position = change.version;
    if (const rpc::Payload due = message(change, watcher->services)) {
      return send_change(watcher, change, due), true;
    }
  }
  return false;
}

void TopologyHub::send_change(const Shared& watcher, const Change& change,
                              const rpc::Payload& message) {
  if (watcher->version == change.previous_version) return send(watcher, message, change.version);
  // What lies between was not for this watcher. A message is its fields one after another, so only
  // the versions, which are the first, are made anew.
  std::string bytes = head(change.version, watcher->version).SerializeAsString();
  bytes.append(*message, change.head_bytes);
  send(watcher, rpc::payload(std::move(bytes)), change.version);
}

void TopologyHub::send(const Shared& watcher, rpc::Payload update, std::uint64_t version) {
  watcher->writing = true;
  watcher->version = version;
  watcher->call->write(std::move(update), [this, weak = std::weak_ptr(watcher)] {
    const Shared here = weak.lock();
    if (!here) return;
    here->writing = false;
    here->sent = loop_.now();
    if (!here->keepalive.armed()) stay_in_touch(here);
    pump(here);
  });
}

// One timer runs through, and asks when it rings: arming it anew for every update would cost more
// than the update.
void TopologyHub::stay_in_touch(const Shared& watcher) {
  watcher->keepalive.arm(watcher->sent + options_.keepalive, [this, weak = std::weak_ptr(watcher)] {
    const Shared here = weak.lock();
    // The write under way arms it again when it is done.
    if (!here || here->writing) return;
    if (loop_.now() - here->sent < options_.keepalive) return stay_in_touch(here);
    send_keepalive(here);
  });
}

std::uint64_t TopologyHub::lag() const {
  std::uint64_t worst = 0;
  for (const Shared& watcher : watchers_) {
    worst = std::max(worst, version() - std::min(version(), watcher->position));
  }
  return worst;
}

void TopologyHub::send_lagged(const Shared& watcher) {
  if (options_.on_lagged) options_.on_lagged();
  v1::TopologyUpdate update;
  update.set_version(watcher->version);
  update.set_previous_version(watcher->version);
  v1::Lagged& lagged = *update.mutable_lagged();
  lagged.set_current_version(version());
  lagged.set_missed_updates(version() > watcher->position ? version() - watcher->position : 0);
  lagged.set_message("this watcher fell behind; the whole topology follows");
  watcher->wants_full = true;
  send(watcher, rpc::to_payload(update), watcher->version);
}

void TopologyHub::send_full(const Shared& watcher) {
  watcher->wants_full = false;
  if (full_.size() >= kFullsMax && !full_.contains(watcher->services.text())) full_.clear();
  Full& full = full_[watcher->services.text()];
  if (!full.update || full.version != version() || loop_.now() - full.made > kFullKept) {
    full = {full_sync_(watcher->services), version(), loop_.now()};
  }
  watcher->position = full.version;
  send(watcher, full.update, full.version);
}

void TopologyHub::send_keepalive(const Shared& watcher) {
  if (watcher->writing || watcher->call->over()) return;
  // Clients of 0.1 do not read the version of a keepalive.
  const std::uint64_t to = watcher->services.one() ? watcher->position : watcher->version;
  v1::TopologyUpdate update = head(to, watcher->version);
  update.mutable_keepalive()->set_server_time(to_ms(loop_.wall_now()));
  send(watcher, rpc::to_payload(update), to);
}

}  // namespace muster::server
