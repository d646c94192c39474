#include "bench/cluster_state_cost.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "core/cluster/cluster_state.h"
#include "core/cluster/snapshot.h"
#include "core/membership/testing.h"
#include "platform/system_clock.h"

namespace muster::bench {
namespace {

template <typename F>
double milliseconds(F&& f) {
  const MonoTime began = boot_now();
  f();
  return static_cast<double>((boot_now() - began).count()) / 1e6;
}

class Subject {
 public:
  explicit Subject(std::size_t nodes) : nodes_(nodes) {
    for (std::size_t i = 0; i < nodes; ++i) {
      apply(membership::testing::registration("node-" + std::to_string(i)));
    }
  }
  void apply(const membership::Command& command) {
    MUSTER_CHECK(state_.apply(cluster::encode(cluster::ChangeTopology{command}),
                              {++index_, 0, membership::testing::at(1)}));
  }
  /// Heartbeats of the tenth of the nodes whose turn it is.
  double batch() {
    membership::BatchHeartbeat beats{state_.topology().registrations(), {}, {}};
    for (std::size_t slot = turn_++ % 10; slot < nodes_; slot += 10) {
      beats.beats.push_back({static_cast<membership::Slot>(slot), membership::NodeState::kActive});
    }
    return milliseconds([&] { apply(beats); });
  }
  cluster::ClusterState& state() { return state_; }

 private:
  std::size_t nodes_;
  cluster::ClusterState state_;
  std::uint64_t index_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace

SnapshotCost measure_snapshot(std::size_t nodes) {
  Subject subject(nodes);
  for (int i = 0; i < 10; ++i) subject.batch();  // All of them ACTIVE.
  SnapshotCost cost;
  for (int i = 0; i < 10; ++i) cost.quiet_batch = std::max(cost.quiet_batch, subject.batch());
  std::optional<cluster::SnapshotParts> parts;
  cost.begin = milliseconds([&] { parts.emplace(subject.state()); });
  cluster::SnapshotAssembler assembler;
  for (;;) {
    std::optional<std::string> part;
    cost.worst_part = std::max(cost.worst_part, milliseconds([&] { part = parts->next(); }));
    if (!part) break;
    ++cost.parts;
    cost.bytes += part->size();
    cost.load += milliseconds([&] { MUSTER_CHECK(assembler.add(*part)); });
    cost.worst_batch = std::max(cost.worst_batch, subject.batch());
  }
  cost.load += milliseconds([&] { MUSTER_CHECK(assembler.finish()); });
  return cost;
}

}  // namespace muster::bench
