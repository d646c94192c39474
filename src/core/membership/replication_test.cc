// What the log relies on: replicas that apply the same commands are the same, to the byte.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/membership/codec.h"
#include "core/membership/testing.h"

namespace muster::membership {
namespace replication_test {

using namespace testing;  // NOLINT: the words of this module's tests.

constexpr std::uint64_t kIds = 12;

Observation random_observation(Random& random, const Topology& topology) {
  const std::string id = "n" + std::to_string(random.below(kIds));
  const NodeEntry* node = topology.find(NodeId(id));
  if (node == nullptr) return {NodeId(id), Generation(uuid(1)), at(0), 0};
  Observation seen = observe(*node);
  if (random.chance(0.2)) seen.heartbeats += random.below(2);
  if (random.chance(0.1)) seen.generation = Generation(uuid(77));
  return seen;
}

BatchHeartbeat random_batch(Random& random, const Topology& topology) {
  BatchHeartbeat batch{topology.registrations() - random.below(2), {}, {}};
  for (Slot slot = 0; slot < kIds; ++slot) {
    if (random.chance(0.5)) {
      batch.beats.push_back({slot, static_cast<NodeState>(random.below(4))});
    }
  }
  return batch;
}

Command random_command(Random& random, const Topology& topology) {
  const std::string id = "n" + std::to_string(random.below(kIds));
  switch (random.below(9)) {
    case 0:
    case 1: {
      NodeSpec node = spec(id, static_cast<unsigned>(random.below(6)),
                           random.chance(0.8) ? "10.0.0.1" : "10.0.0.2");
      node.type = random.chance(0.9) ? NodeType::kObject : NodeType::kFrontend;
      if (random.chance(0.2)) set_service(node, random.chance(0.5) ? "search" : "queue");
      if (random.chance(0.2)) node.tags = {{"zone", random.chance(0.5) ? "a" : "b"}};
      return registration_of(node);
    }
    case 2:
      return random.chance(0.4) ? Command(DeregisterNode{NodeId(id), {}, {}})
                                : Command(random_batch(random, topology));
    case 3:
      return random_batch(random, topology);
    case 4:
      return MarkSuspect{random_observation(random, topology), {}};
    case 5:
      return MarkDown{random_observation(random, topology), {}};
    case 6:
      return RemoveJoining{random_observation(random, topology), {}};
    case 7:
      if (random.chance(0.5)) return SetDrain{NodeId(id), random.chance(0.5), {}};
      return Drain{NodeId(id), random.chance(0.5), {}};
    default:
      return SetRingConfig{{static_cast<std::uint32_t>(1 + random.below(2)), 3, {}}, {}};
  }
}

bool same(const ApplyResult& a, const ApplyResult& b) {
  return a.before == b.before && a.after == b.after && a.outcome.ok() == b.outcome.ok() &&
         (a.outcome.ok() || a.outcome.error().message == b.outcome.error().message) &&
         std::equal(a.events.begin(), a.events.end(), b.events.begin(), b.events.end(),
                    [](const Event& x, const Event& y) {
                      return x.kind == y.kind && x.version == y.version &&
                             x.previous_version == y.previous_version && x.node == y.node &&
                             x.ring == y.ring;
                    });
}

/// A follower as a watcher sees it: built from events alone.
void follow(std::vector<NodeEntry>& view, const Event& event) {
  std::erase_if(view, [&](const NodeEntry& n) { return n.id == event.node.id; });
  if (event.kind == EventKind::kNodeAdded || event.kind == EventKind::kNodeUpdated) {
    view.push_back(event.node);
  }
}

/// Whether the view has the same nodes in the same states; heartbeats make no events.
bool agrees(const std::vector<NodeEntry>& view, const Topology& topology) {
  return view.size() == topology.size() &&
         std::all_of(view.begin(), view.end(), [&](const NodeEntry& seen) {
           const NodeEntry* node = topology.find(seen.id);
           return node != nullptr && node->state == seen.state &&
                  node->generation == seen.generation && node->address == seen.address &&
                  node->slot == seen.slot && node->service == seen.service &&
                  node->tags == seen.tags;
         });
}

TEST(ReplicationTest, RandomCommandsGiveTheSameBytesOnEveryReplica) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Topology leader, follower;
    std::vector<NodeEntry> view;
    TopologyVersion last;
    std::int64_t clock = 0;
    for (int step = 0; step < 500; ++step) {
      clock += static_cast<std::int64_t>(random.below(30)) - 5;
      const TimedCommand command{at(clock), random_command(random, leader), {}};
      const ApplyResult result = leader.apply(command);
      // The follower knows only bytes, and is now and then restarted from a snapshot.
      if (random.chance(0.05)) {
        Result<Topology> restarted = decode_snapshot(encode_snapshot(follower));
        ASSERT_TRUE(restarted);
        follower = std::move(*restarted);
      }
      const auto decoded = decode_command(encode(command));
      ASSERT_TRUE(decoded);
      ASSERT_EQ(*decoded, command);
      ASSERT_TRUE(same(result, follower.apply(*decoded))) << name(command.command);
      for (const Event& event : result.events) {
        ASSERT_EQ(event.previous_version, last);
        ASSERT_EQ(event.version.value(), last.value() + 1);
        last = event.version;
        follow(view, event);
      }
      ASSERT_EQ(leader.version(), last);
      ASSERT_TRUE(agrees(view, leader)) << name(command.command);
      ASSERT_EQ(encode_snapshot(leader), encode_snapshot(follower)) << name(command.command);
    }
  }
}

}  // namespace replication_test
}  // namespace muster::membership
