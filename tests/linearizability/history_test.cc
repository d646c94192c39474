#include "tests/linearizability/history.h"

#include <gtest/gtest.h>

namespace muster::history {
namespace history_test {

Result<Object> saw(const std::string& value, const std::string& revision) {
  return Object{value, Revision(revision), {}};
}
Result<Revision> wrote(const std::string& revision) {
  return Revision(revision);
}
const Error kAmbiguous{Errc::kAmbiguous, ""};
const Error kConflict{Errc::kConflict, ""};
const Error kNotFound{Errc::kNotFound, ""};
const Error kUnavailable{Errc::kUnavailable, ""};

class HistoryTest : public ::testing::Test {
 protected:
  void read(Duration from, Duration to, const Result<Object>& answer) {
    history_.answered(history_.read("k", from), answer, to);
  }
  void put(Duration from, Duration to, const std::string& value, const Precondition& when,
           const Result<Revision>& answer) {
    history_.answered(history_.put("k", value, when, from), answer, to);
  }
  [[nodiscard]] bool right() const { return history_.violation().empty(); }

  History history_;
};

TEST_F(HistoryTest, OneAfterAnotherIsRight) {
  read(0s, 1s, kNotFound);
  put(2s, 3s, "a", Precondition::absent(), wrote("1"));
  read(4s, 5s, saw("a", "1"));
  put(6s, 7s, "b", Precondition::at(Revision("1")), wrote("2"));
  put(8s, 9s, "c", Precondition::at(Revision("1")), kConflict);
  history_.answered(history_.remove("k", Revision("2"), 10s), Status(Done{}), 11s);
  read(12s, 13s, kNotFound);
  EXPECT_EQ(history_.violation(), "");
}

TEST_F(HistoryTest, AReadThatMissesAnAcknowledgedWriteIsWrong) {
  put(0s, 1s, "a", {}, wrote("1"));
  put(2s, 3s, "b", {}, wrote("2"));
  read(4s, 5s, saw("a", "1"));
  EXPECT_FALSE(right());
}

TEST_F(HistoryTest, ReadsMustAgreeOnTheOrderOfWrites) {
  put(0s, 10s, "a", {}, wrote("1"));
  put(0s, 10s, "b", {}, wrote("2"));
  read(1s, 2s, saw("a", "1"));
  read(3s, 4s, saw("b", "2"));
  EXPECT_TRUE(right());
  read(5s, 6s, saw("a", "1"));
  EXPECT_FALSE(right());
}

TEST_F(HistoryTest, TwoWritersCannotBothReplaceOneRevision) {
  put(0s, 1s, "a", Precondition::absent(), wrote("1"));
  put(2s, 9s, "b", Precondition::at(Revision("1")), wrote("2"));
  put(2s, 9s, "c", Precondition::at(Revision("1")), wrote("3"));
  EXPECT_FALSE(right());
}

TEST_F(HistoryTest, AnAmbiguousWriteMayHaveHappenedOrNotAndLate) {
  put(0s, 1s, "a", {}, wrote("1"));
  put(2s, 3s, "b", Precondition::at(Revision("1")), kAmbiguous);
  read(4s, 5s, saw("a", "1"));
  EXPECT_TRUE(right());
  read(6s, 7s, saw("b", "2"));
  EXPECT_TRUE(right());
  read(8s, 9s, saw("a", "1"));
  EXPECT_FALSE(right());
}

TEST_F(HistoryTest, AConflictNeedsACause) {
  put(0s, 1s, "a", Precondition::absent(), wrote("1"));
  put(2s, 3s, "b", Precondition::at(Revision("1")), kConflict);
  EXPECT_FALSE(right());
}

TEST_F(HistoryTest, AnAmbiguousWriteMayBeThatCause) {
  put(0s, 1s, "a", Precondition::absent(), wrote("1"));
  put(1s, 2s, "x", Precondition::at(Revision("1")), kAmbiguous);
  put(2s, 3s, "b", Precondition::at(Revision("1")), kConflict);
  EXPECT_TRUE(right());
}

TEST_F(HistoryTest, ARefusedWriteIsNeverSeen) {
  put(0s, 1s, "a", {}, kUnavailable);
  read(2s, 3s, kNotFound);
  EXPECT_TRUE(right());
  read(4s, 5s, saw("a", "1"));
  EXPECT_FALSE(right());
}

TEST_F(HistoryTest, AValueThatNobodyWroteIsWrong) {
  read(0s, 1s, saw("ghost", "1"));
  EXPECT_FALSE(right());
}

TEST_F(HistoryTest, KeysAreJudgedApart) {
  put(0s, 1s, "a", {}, wrote("1"));
  history_.answered(history_.read("other", 2s), Result<Object>(kNotFound), 3s);
  EXPECT_TRUE(right());
}

TEST_F(HistoryTest, AWriteSentAgainMayHappenTwice) {
  const auto id = history_.put("k", "a", {}, 0s);
  history_.again(id, 1s);
  history_.answered(id, wrote("1"), 2s);
  put(3s, 4s, "b", {}, wrote("2"));
  read(5s, 6s, saw("a", "3"));
  put(7s, 8s, "c", Precondition::at(Revision("1")), kConflict);
  put(9s, 10s, "c", Precondition::at(Revision("3")), wrote("4"));
  EXPECT_EQ(history_.violation(), "");
  // But not a third time.
  read(11s, 12s, saw("a", "5"));
  EXPECT_FALSE(right());
}

TEST_F(HistoryTest, AWriteSentAgainMayHappenAlthoughItWasRefused) {
  const auto id = history_.put("k", "a", Precondition::absent(), 0s);
  history_.again(id, 1s);
  history_.answered(id, Result<Revision>(kUnavailable), 2s);
  read(3s, 4s, kNotFound);
  read(5s, 6s, saw("a", "1"));
  EXPECT_EQ(history_.violation(), "");
}

}  // namespace history_test
}  // namespace muster::history
