// Three members in three network namespaces; the leader is cut off from the two others while its
// clients still reach it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "platform/system_clock.h"
#include "tests/support/child_process.h"
#include "tests/support/races.h"
#include "tests/support/store_conformance.h"

namespace muster {
namespace etcd_partition_test {

class EtcdPartitionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string ready = cluster_.read_line();
    ASSERT_TRUE(ready.starts_with("ready ")) << "the cluster did not start; it needs root and etcd";
    const auto words = split(ready, ' ');
    for (std::size_t i = 1; i < words.size(); ++i)
      endpoints_.emplace_back(words[i].substr(std::string_view("http://").size()));
    ASSERT_EQ(endpoints_.size(), 3u);
  }
  std::string order(const std::string& line) {
    cluster_.write_line(line);
    return cluster_.read_line();
  }
  [[nodiscard]] std::string url(const std::string& hosts) const { return "etcd://" + hosts + "/p"; }
  [[nodiscard]] std::string url_of_all() const {
    return url(endpoints_[0] + "," + endpoints_[1] + "," + endpoints_[2]);
  }

  TempDir dir_;
  ChildProcess cluster_{{std::string(MUSTER_SOURCE_DIR) + "/tools/testing/etcd_netns.sh", "serve",
                         dir_.path().string(), system_random().uuid().substr(0, 8)}};
  std::vector<std::string> endpoints_;
  LoopThread thread_;
};

// P18: what a leader that lost its majority says is never a stale read and never an acknowledged
// write that is gone afterwards.
TEST_F(EtcdPartitionTest, ACutOffLeaderConfirmsNothing) {
  // Takes about 11 s: a real etcd of three starts in networks of its own, and a write and a read on
  // the minority's side each wait for their limit of 2 s.
  const std::string leader = order("leader");
  ASSERT_EQ(leader.size(), 1u);
  const auto index = static_cast<std::size_t>(leader[0] - '0');
  TestStore minority(thread_, open_url(url(endpoints_.at(index))));
  TestStore majority(thread_, open_url(url(endpoints_.at((index + 1) % 3) + "," +
                                           endpoints_.at((index + 2) % 3))));
  const auto first = minority.put("key", "before", Precondition::absent());
  ASSERT_TRUE(first) << first.error().message;

  order("cut " + leader);
  minority.patience = 2s;
  const auto lost = minority.put("key", "minority", Precondition::at(*first));
  EXPECT_TRUE(lost.is(Errc::kAmbiguous) || lost.is(Errc::kUnavailable))
      << (lost ? "acknowledged" : lost.error().message);
  // The majority elects its own; until then it says so, too.
  const Deadline give_up = thread_.loop().now() + 20s;
  Result<Revision> won = majority.put("key", "majority", Precondition::at(*first));
  while (!won && !won.is(Errc::kConflict) && thread_.loop().now() < give_up)
    won = majority.put("key", "majority", Precondition::at(*first));
  ASSERT_TRUE(won) << won.error().message;
  const auto stale = minority.get("key");
  EXPECT_TRUE(stale.is(Errc::kUnavailable)) << "a read by a leader without majority";

  order("join " + leader);
  ASSERT_EQ(order("leader").size(), 1u);
  minority.patience = 10s;
  const auto healed = minority.get("key");
  ASSERT_TRUE(healed) << healed.error().message;
  EXPECT_EQ(healed->body, "majority");
  EXPECT_EQ(healed->revision, *won);
}

// Takes about 24 s: a real etcd of three starts, is parted for 3 s, which is six of its election
// timeouts of 500 ms, and 16 processes append 50 times each to one object.
TEST_F(EtcdPartitionTest, APartitionThatHealsLosesNoSwap) {
  TestStore store(thread_, open_url(url_of_all()));
  expect_no_lost_swap(
      store, [this](int) { return url_of_all(); },
      [this] {
        const std::string leader = order("leader");
        order("cut " + leader);
        sleep_for(3s);  // Longer than an election: both sides act meanwhile.
        order("join " + leader);
      });
}

}  // namespace etcd_partition_test
}  // namespace muster
