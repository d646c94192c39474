// The suite on real etcd, one member and three, and what must hold while members fail.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "platform/system_clock.h"
#include "tests/support/etcd_cluster.h"
#include "tests/support/races.h"
#include "tests/support/store_conformance.h"

namespace muster {
namespace etcd_conformance_test {

using Cluster = muster::testing::EtcdCluster;

/// Members die with the thread that started them, so the main thread does, before any test.
class Clusters : public ::testing::Environment {
 public:
  void SetUp() override {
    one = std::make_unique<Cluster>();
    muster::testing::EtcdClusterOptions options;
    options.members = 3;
    three = std::make_unique<Cluster>(options);
  }
  void TearDown() override {
    one.reset();
    three.reset();
  }
  std::unique_ptr<Cluster> one;
  std::unique_ptr<Cluster> three;
};

Clusters& clusters() {
  static auto* const instance = new Clusters;  // GoogleTest deletes it.
  return *instance;
}
[[maybe_unused]] const auto* const kRegistered = ::testing::AddGlobalTestEnvironment(&clusters());

INSTANTIATE_TEST_SUITE_P(EtcdOfOne, StoreConformance,
                         ::testing::Values(url_store_factory("etcd", [](const std::string& scope) {
                           return clusters().one->url(scope);
                         })));
INSTANTIATE_TEST_SUITE_P(EtcdOfThree, StoreConformance,
                         ::testing::Values(url_store_factory("etcd of three",
                                                             [](const std::string& scope) {
                                                               return clusters().three->url(scope);
                                                             })));

class EtcdFailureTest : public ::testing::Test {
 protected:
  const std::string prefix_ = "failure-" + system_random().uuid();
  Cluster& cluster_ = *clusters().three;
  LoopThread thread_;
  TestStore store_{thread_, open_url(cluster_.url(prefix_))};
};

TEST_F(EtcdFailureTest, OfThirtyTwoCreatorsOneWins) {
  expect_one_creator([this](int) { return cluster_.url(prefix_); }, 50);
}

// Takes about 11 s: 16 processes append 50 times each to one object, most of which lose and try
// again, while a real etcd of three elects anew and restarts a member.
TEST_F(EtcdFailureTest, ALeaderKilledAndBroughtBackLosesNoSwap) {
  expect_no_lost_swap(
      store_, [this](int) { return cluster_.url(prefix_); },
      [this] {
        const int leader = cluster_.leader();
        cluster_.kill(leader);
        static_cast<void>(cluster_.leader());  // The two others have one.
        cluster_.restart(leader);
      });
}

// Takes about 10 s: 16 processes append 50 times each to one object, most of which lose and try
// again, while a real etcd of three elects anew.
TEST_F(EtcdFailureTest, AFrozenLeaderLosesNoSwap) {
  expect_no_lost_swap(
      store_, [this](int) { return cluster_.url(prefix_); },
      [this] {
        const int leader = cluster_.leader();
        cluster_.stop(leader);
        static_cast<void>(cluster_.leader());
        cluster_.cont(leader);
      });
}

}  // namespace etcd_conformance_test
}  // namespace muster
