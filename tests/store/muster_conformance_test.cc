// The suite on real musterd, one server and three, and what must hold while servers fail.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "platform/system_clock.h"
#include "tests/support/etcd_cluster.h"
#include "tests/support/musterd_cluster.h"
#include "tests/support/races.h"
#include "tests/support/store_conformance.h"

namespace muster {
namespace muster_conformance_test {

using Cluster = muster::testing::MusterdCluster;

/// Servers die with the thread that started them, so the main thread does, before any test.
class Clusters : public ::testing::Environment {
 public:
  void SetUp() override {
    one = std::make_unique<Cluster>();
    engine = std::make_unique<muster::testing::EtcdCluster>();
    muster::testing::MusterdClusterOptions options;
    options.servers = 3;
    options.engine = engine->url("muster");
    three = std::make_unique<Cluster>(options);
  }
  void TearDown() override {
    one.reset();
    three.reset();
    engine.reset();
  }
  std::unique_ptr<Cluster> one;  ///< On a directory.
  std::unique_ptr<muster::testing::EtcdCluster> engine;
  std::unique_ptr<Cluster> three;
};

Clusters& clusters() {
  static auto* const instance = new Clusters;  // GoogleTest deletes it.
  return *instance;
}
[[maybe_unused]] const auto* const kRegistered = ::testing::AddGlobalTestEnvironment(&clusters());

StoreFactory musterd(std::string name, std::unique_ptr<Cluster> Clusters::*cluster) {
  StoreFactory factory = url_store_factory(std::move(name), [cluster](const std::string& scope) {
    return (clusters().*cluster)->url(scope);
  });
  factory.largest_body = 256 * 1024;
  return factory;
}

/// The second handle of each test asks another server first: what one acknowledges all must show.
StoreFactory musterd_from_everywhere() {
  StoreFactory factory = url_store_factory("musterd of three", [](const std::string& scope) {
    static int first = 0;
    const Cluster& cluster = *clusters().three;
    std::string hosts;
    for (int i = 0; i < cluster.size(); ++i) {
      hosts += (i > 0 ? "," : "") + cluster.endpoint((first + i) % cluster.size());
    }
    ++first;
    return "muster://" + hosts + "/" + scope;
  });
  factory.largest_body = 256 * 1024;
  return factory;
}

INSTANTIATE_TEST_SUITE_P(MusterdOfOne, StoreConformance,
                         ::testing::Values(musterd("musterd", &Clusters::one)));
INSTANTIATE_TEST_SUITE_P(MusterdOfThree, StoreConformance,
                         ::testing::Values(musterd_from_everywhere()));

class MusterdFailureTest : public ::testing::Test {
 protected:
  const std::string prefix_ = "failure-" + system_random().uuid();
  Cluster& cluster_ = *clusters().three;
  LoopThread thread_;
  TestStore store_{thread_, open_url(cluster_.url(prefix_))};
};

TEST_F(MusterdFailureTest, OfThirtyTwoCreatorsOneWins) {
  expect_one_creator([this](int) { return cluster_.url(prefix_); }, 20);
}

// Takes about 25 s: 16 processes append 50 times each to one object, most of which lose and try
// again, while the others wait for the lease of 2 s of the killed leader.
TEST_F(MusterdFailureTest, ALeaderKilledAndBroughtBackLosesNoSwap) {
  expect_no_lost_swap(
      store_, [this](int) { return cluster_.url(prefix_); },
      [this] {
        const int leader = cluster_.leader();
        cluster_.kill(leader);
        static_cast<void>(cluster_.leader());  // The two others have one.
        cluster_.restart(leader);
      });
}

// Takes about 11 s: 16 processes append 50 times each to one object, most of which lose and try
// again, while the others wait for the lease of 2 s of the frozen leader.
TEST_F(MusterdFailureTest, AFrozenLeaderLosesNoSwap) {
  expect_no_lost_swap(
      store_, [this](int) { return cluster_.url(prefix_); },
      [this] {
        const int leader = cluster_.leader();
        cluster_.stop(leader);
        static_cast<void>(cluster_.leader());
        cluster_.cont(leader);
      });
}

}  // namespace muster_conformance_test
}  // namespace muster
