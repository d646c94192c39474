#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "bench/client_agent.h"
#include "bench/load.h"
#include "bench/report.h"
#include "client/published.h"
#include "core/client/topology_cache.h"
#include "core/routing/hash_ring.h"

// What a client does for every change of a topology and for every key, without a network and on one
// thread; and what an agent with many nodes costs at a real server.
namespace muster {
namespace {

using namespace client;

constexpr int kRounds = 7;

Node node(std::size_t number) {
  Node n;
  n.id = NodeId("node-" + std::to_string(number));
  n.address = "10.0.0.1";
  n.port = 7000;
  n.type = NodeType::kObject;
  n.state = NodeState::kActive;
  n.generation = Generation("00000000-0000-4000-8000-000000000001");
  return n;
}

TopologyImage image(std::size_t nodes) {
  TopologyImage all;
  for (std::size_t i = 0; i < nodes; ++i) all.nodes.push_back(node(i));
  return all;
}

/// Nanoseconds of CPU for one of `count` operations; the best of several rounds, because whatever
/// else runs on the machine only makes it slower.
double measure(std::size_t count, const std::function<void(std::size_t)>& operation) {
  double best = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const Duration began = bench::process_cpu();
    for (std::size_t i = 0; i < count; ++i) operation(i);
    const double each =
        static_cast<double>((bench::process_cpu() - began).count()) / static_cast<double>(count);
    best = std::min(best, each);
  }
  return best;
}

/// Changes that go round: each call is the next version.
class Changes {
 public:
  explicit Changes(std::size_t nodes) : nodes_(nodes) {
    const TopologyImage whole = image(nodes);
    MUSTER_CHECK(cache_.apply({TopologyVersion(0), TopologyVersion(0), FullSync{whole}}).ok());
  }
  template <typename What>
  void apply(What what) {
    const TopologyVersion previous = cache_.version();
    const TopologyUpdate update{TopologyVersion(previous.value() + 1), previous, std::move(what)};
    MUSTER_CHECK(cache_.apply(update).ok());
    // As a watch does, so that the old version stays until the new one is there.
    published_.set(cache_.view());
  }
  Node some() {
    next_ = (next_ + 7919) % nodes_;
    return node(next_);
  }
  [[nodiscard]] const TopologyView& view() const { return *cache_.view(); }
  [[nodiscard]] client::Published<TopologyView>& published() { return published_; }

 private:
  std::size_t nodes_;
  std::size_t next_ = 0;
  TopologyCache cache_;
  client::Published<TopologyView> published_{std::make_shared<const TopologyView>()};
};

void bench_changes(bench::Report& report) {
  report.title("Following a topology of 10,000 nodes, published for readers");
  constexpr std::size_t kNodes = 10'000;
  Changes changes(kNodes);
  const double same = measure(2000,
                              [&](std::size_t i) {
                                Node n = changes.some();
                                n.state = i % 2 == 0 ? NodeState::kSuspect : NodeState::kActive;
                                changes.apply(NodeUpdated{n});
                              }) /
                      1000;
  const double moves = measure(2000,
                               [&](std::size_t i) {
                                 Node n = node(i % kNodes);
                                 n.state = NodeState::kDown;
                                 changes.apply(NodeUpdated{n});
                                 changes.apply(NodeUpdated{node(i % kNodes)});
                               }) /
                       2000;
  const double comes = measure(1000,
                               [&](std::size_t i) {
                                 changes.apply(NodeAdded{node(kNodes + i)});
                                 changes.apply(NodeRemoved{node(kNodes + i)});
                               }) /
                       2000;
  const TopologyImage whole = image(kNodes);
  const double sync = measure(1, [&](std::size_t) { TopologyView view(whole); }) / 1000;
  report.table({"change", "µs of CPU"},
               {{"a node that keeps its place in the ring", bench::figure(same, 2)},
                {"a node that leaves or enters the ring", bench::figure(moves, 2)},
                {"a node that is added or removed", bench::figure(comes, 2)},
                {"a full sync of all 10,000", bench::figure(sync, 0)}});
  report.at_most("a change of 10,000 nodes, the costliest kind", std::max({same, moves, comes}), 20,
                 "µs");
  report.data()["change_us"] = {
      {"same", same}, {"ring", moves}, {"add_remove", comes}, {"full_sync", sync}};
}

void bench_lookups(bench::Report& report) {
  report.title("Who holds a key: 1,000 nodes, 16 virtual nodes each, replication 3");
  constexpr std::size_t kNodes = 1000;
  Changes changes(kNodes);
  changes.apply(NodeUpdated{node(0)});
  std::vector<RingMember> members;
  for (std::size_t i = 0; i < kNodes; ++i) members.push_back({node(i).id});
  const HashRing ring(members, {});
  std::vector<std::string> keys;
  std::vector<std::uint64_t> positions;
  for (std::size_t i = 0; i < 4096; ++i) {
    keys.push_back("bucket/object-" + std::to_string(i * 7919));
    positions.push_back(key_position(keys.back()));
  }
  auto reader = changes.published().reader();
  std::uint64_t sum = 0;
  const auto key = [&](std::size_t i) -> const std::string& { return keys[i % keys.size()]; };
  constexpr std::size_t kCount = 400'000;
  const double hashing = measure(kCount, [&](std::size_t i) { sum += key_position(key(i)); });
  const double ring_at = measure(
      kCount, [&](std::size_t i) { sum += ring.at(positions[i % keys.size()]).members[0]; });
  const double ring_key =
      measure(kCount, [&](std::size_t i) { sum += ring.lookup(key(i)).members[0]; });
  const double view_at = measure(kCount, [&](std::size_t i) {
    sum += reader.get().owners_at(positions[i % keys.size()])[0].port;
  });
  const double view_key =
      measure(kCount, [&](std::size_t i) { sum += reader.get().owners(key(i))[0].port; });
  report.table({"lookup", "ns of CPU"},
               {{"SHA-256 of the key alone", bench::figure(hashing, 1)},
                {"HashRing, position known", bench::figure(ring_at, 1)},
                {"HashRing, by key", bench::figure(ring_key, 1)},
                {"a client's topology, position known", bench::figure(view_at, 1)},
                {"a client's topology, by key", bench::figure(view_key, 1)}});
  report.at_most("a ring lookup, the key's position known", view_at, 150, "ns");
  report.at_most("a ring lookup by key, hashing included", view_key, 150, "ns");
  report.data()["lookup_ns"] = {{"hash", hashing},      {"ring_at", ring_at},
                                {"ring_key", ring_key}, {"view_at", view_at},
                                {"view_key", view_key}, {"checksum", sum}};
}

}  // namespace
}  // namespace muster

int main() {
  muster::bench::Report report("client");
  muster::bench_changes(report);
  muster::bench_lookups(report);
  muster::bench::bench_agent(report);
  return report.finish();
}
