#include "core/cluster/decision_log.h"

#include <gtest/gtest.h>

#include <string>

namespace muster::cluster {
namespace decision_log_test {

Decision about(const std::string& subject) {
  Decision d;
  d.kind = DecisionKind::kTransition;
  d.subject = subject;
  d.why = Why::kHeartbeat;
  return d;
}

TEST(DecisionLogTest, KeepsTheRecentOnesAndTheLastAboutEachSubject) {
  DecisionLog log(100, 10'000);
  log.add(about("quiet"));
  for (int i = 0; i < 1000; ++i) log.add(about("noisy"));
  EXPECT_EQ(log.newest(), 1001U);
  EXPECT_EQ(log.complete_from(), 902U);
  ASSERT_EQ(log.about("quiet").size(), 1U);
  EXPECT_EQ(log.about("noisy").size(), 100U);
  EXPECT_EQ(log.size(), 101U);
  for (int i = 0; i < 200; ++i) log.add(about("other" + std::to_string(i)));
  EXPECT_EQ(log.about("noisy").size(), DecisionLog::kPerSubject);
  EXPECT_EQ(log.about("other3").size(), 1U) << "older than the recent ones, but the only one";
}

TEST(DecisionLogTest, IsBoundedInAll) {
  DecisionLog log(10, 50);
  for (int i = 0; i < 500; ++i) log.add(about("n" + std::to_string(i)));
  EXPECT_EQ(log.size(), 50U);
  EXPECT_TRUE(log.about("n449").empty());
  EXPECT_EQ(log.about("n450").size(), 1U);
  EXPECT_EQ(log.complete_from(), 491U);
}

TEST(DecisionLogTest, HandsOutWhatCameAfterANumber) {
  DecisionLog log(10, 50);
  EXPECT_EQ(log.complete_from(), 0U);
  for (int i = 0; i < 5; ++i) log.add(about("n"));
  const auto two = log.after(2, 2);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two.front()->seq, 3U);
  EXPECT_EQ(log.last(2).front()->seq, 4U);
  EXPECT_TRUE(log.after(5, 10).empty());
}

TEST(DecisionLogTest, GoesOnFromASnapshotAsIfItHadSeenEverything) {
  DecisionLog one(20, 60);
  for (int i = 0; i < 300; ++i) one.add(about("n" + std::to_string(i % 7 == 0 ? i : i % 7)));
  DecisionLog two(20, 60);
  for (const auto& entry : one.freeze()) ASSERT_TRUE(two.load(*entry));
  for (int i = 0; i < 300; ++i) {
    one.add(about("m" + std::to_string(i % 5)));
    two.add(about("m" + std::to_string(i % 5)));
    ASSERT_EQ(one.size(), two.size()) << i;
  }
  const auto a = one.freeze();
  const auto b = two.freeze();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(*a[i], *b[i]);
  EXPECT_TRUE(two.load(*a.front()).is(Errc::kCorrupt));
}

}  // namespace decision_log_test
}  // namespace muster::cluster
