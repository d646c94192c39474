#include "core/security/revocations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::security {
namespace revocations_test {

using ::testing::HasSubstr;

constexpr MonoTime kStart{100h};
constexpr WallTime kNoon = wall_from_ms(1'800'000'000'000);

IssuerRevocations list(std::unordered_set<std::string> serials, WallTime from = kNoon,
                       const std::string& issuer = "CN=A", const std::string& key = "1") {
  return {issuer, key, from, from + 24h, std::move(serials)};
}

class RevocationsTest : public ::testing::Test {
 protected:
  Standing at(Duration later, const std::string& serial, const std::string& issuer = "CN=A") {
    return revocations.standing(
        issuer, serial, kStart + later,
        kNoon + std::chrono::duration_cast<std::chrono::milliseconds>(later));
  }
  Status accept(IssuerRevocations one, Duration later = 0s) {
    std::vector<IssuerRevocations> lists;
    lists.push_back(std::move(one));
    return revocations.accept(std::move(lists), kStart + later,
                              kNoon + std::chrono::duration_cast<std::chrono::milliseconds>(later));
  }
  std::optional<std::string> closed(Duration later) {
    return revocations.closed_because(
        kStart + later, kNoon + std::chrono::duration_cast<std::chrono::milliseconds>(later));
  }

  Revocations revocations{Revocations::Options{}};
};

TEST_F(RevocationsTest, NothingIsGoodBeforeTheFirstList) {
  EXPECT_EQ(at(0s, "1"), Standing::kUnknown);
  EXPECT_THAT(closed(0s).value(), HasSubstr("no revocation list yet"));
}

TEST_F(RevocationsTest, AListTellsGoodFromRevoked) {
  ASSERT_TRUE(accept(list({"ab"})).ok());
  EXPECT_EQ(at(1s, "ab"), Standing::kRevoked);
  EXPECT_EQ(at(1s, "ac"), Standing::kGood);
  EXPECT_FALSE(closed(1s).has_value());
  // Serials are unique for an issuer only, and no CA answers for another issuer's.
  EXPECT_EQ(at(1s, "ac", "CN=B"), Standing::kUnknown);
}

TEST_F(RevocationsTest, TellsWhenTheFirstOfItsListsRunsOut) {
  EXPECT_FALSE(revocations.term(kNoon).has_value());
  ASSERT_TRUE(revocations.accept({list({"ab"}), list({}, kNoon - 1h, "CN=B")}, kStart, kNoon).ok());
  const auto term = revocations.term(kNoon).value();
  EXPECT_EQ(term.whole, 24h);
  EXPECT_EQ(term.left, 23h);
  EXPECT_FALSE(term.nearly_over());
  EXPECT_FALSE(revocations.term(kNoon + 20h)->nearly_over());
  EXPECT_TRUE(revocations.term(kNoon + 21h)->nearly_over());
  EXPECT_EQ(revocations.term(kNoon + 24h)->left, -1h);
}

// T22: after max age it fails closed, and recovers by itself.
TEST_F(RevocationsTest, AfterTheMaximumAgeItIsClosedUntilAListComes) {
  ASSERT_TRUE(accept(list({"ab"})).ok());
  EXPECT_EQ(revocations.next_attempt(), 5min);
  revocations.note_failure();
  EXPECT_TRUE(revocations.failing());
  EXPECT_EQ(revocations.next_attempt(), 30s);
  EXPECT_EQ(at(1h - 1ns, "ac"), Standing::kGood);
  EXPECT_EQ(at(1h, "ac"), Standing::kUnknown);
  EXPECT_EQ(at(1h, "ab"), Standing::kRevoked);
  EXPECT_THAT(closed(1h).value(), HasSubstr("for 1h"));
  ASSERT_TRUE(accept(list({"ab"}), 2h).ok());
  EXPECT_EQ(at(2h, "ac"), Standing::kGood);
  EXPECT_FALSE(closed(2h).has_value());
  EXPECT_FALSE(revocations.failing());
  EXPECT_EQ(revocations.failures(), 1u);
}

TEST_F(RevocationsTest, SaysWhenSomethingCeasesToBeGood) {
  const auto good_for = [this](Duration later) {
    return revocations.good_for(
        kStart + later, kNoon + std::chrono::duration_cast<std::chrono::milliseconds>(later));
  };
  EXPECT_EQ(good_for(0s), std::nullopt) << "nothing is";
  IssuerRevocations brief = list({}, kNoon, "CN=B");
  brief.next_update = kNoon + 10min;
  ASSERT_TRUE(revocations.accept({list({}), brief}, kStart, kNoon).ok());
  EXPECT_EQ(good_for(1min), Duration(9min)) << "one list runs out";
  EXPECT_EQ(good_for(10min), Duration(50min)) << "the other has the maximum age";
  EXPECT_EQ(good_for(1h), std::nullopt);
  IssuerRevocations endless = list({});
  endless.next_update = wall_from_ms(253'402'300'799'000);  // The end of the year 9999.
  ASSERT_TRUE(revocations.accept({endless}, kStart, kNoon).ok());
  EXPECT_EQ(good_for(0s), Duration(1h));
}

TEST_F(RevocationsTest, AgeCountsFromWhenTheAskingBegan) {
  ASSERT_TRUE(accept(list({}), 0s).ok());
  EXPECT_EQ(revocations.age(kStart + 10s), 10s);
  EXPECT_EQ(at(59min, "ac"), Standing::kGood);
}

TEST_F(RevocationsTest, AListEndsAtItsNextUpdateHoweverFreshlyItWasRead) {
  IssuerRevocations brief = list({"ab"});
  brief.next_update = kNoon + 10min;
  ASSERT_TRUE(accept(brief).ok());
  EXPECT_EQ(at(10min - 1ms, "ac"), Standing::kGood);
  EXPECT_EQ(at(10min, "ac"), Standing::kUnknown);
  EXPECT_THAT(closed(10min).value(), HasSubstr("CN=A has expired"));
  const Status again = accept(brief, 10min);
  EXPECT_TRUE(again.is(Errc::kCorrupt));
  EXPECT_THAT(again.error().message, HasSubstr("has expired"));
}

TEST_F(RevocationsTest, AnOlderListBringsNobodyBack) {
  ASSERT_TRUE(accept(list({"ab"}, kNoon)).ok());
  const Status older = accept(list({}, kNoon - 1s), 1min);
  EXPECT_TRUE(older.is(Errc::kCorrupt));
  EXPECT_EQ(at(1min, "ab"), Standing::kRevoked);
  EXPECT_TRUE(accept(list({"ab"}, kNoon), 1min).ok());
}

// A list of another issuer comes between: what the first one said is not forgotten.
TEST_F(RevocationsTest, ADetourOverAnotherIssuersListBringsNobodyBack) {
  ASSERT_TRUE(accept(list({"ab"}, kNoon)).ok());
  ASSERT_TRUE(accept(list({}, kNoon, "CN=B")).ok());
  EXPECT_TRUE(accept(list({}, kNoon - 1s)).is(Errc::kCorrupt));
  EXPECT_EQ(at(0s, "ab"), Standing::kUnknown);
  ASSERT_TRUE(accept(list({"ab"}, kNoon)).ok());
  EXPECT_EQ(at(0s, "ab"), Standing::kRevoked);
}

TEST_F(RevocationsTest, MarksOfAnEarlierRunCountAndNeverFall) {
  const std::vector<RevocationMark> earlier{{"CN=A", "1", kNoon}, {"CN=B", "1", kNoon - 1h}};
  revocations.remember(earlier);
  EXPECT_EQ(revocations.marks(), earlier);
  EXPECT_TRUE(accept(list({}, kNoon - 1s)).is(Errc::kCorrupt));
  ASSERT_TRUE(accept(list({}, kNoon + 1s)).ok());
  revocations.remember(earlier);
  EXPECT_EQ(revocations.marks().front().this_update, kNoon + 1s);
}

// Both keys of an authority that has changed its key sign lists; a new list of one must not carry
// an old list of the other in.
TEST_F(RevocationsTest, EachKeyOfAnIssuerHasAMarkOfItsOwn) {
  const auto both = [this](WallTime first, WallTime second) {
    return revocations.accept({list({}, first, "CN=A", "1"), list({"ab"}, second, "CN=A", "2")},
                              kStart, kNoon);
  };
  ASSERT_TRUE(both(kNoon - 2h, kNoon - 1h).ok());
  EXPECT_TRUE(both(kNoon, kNoon - 90min).is(Errc::kCorrupt));
  EXPECT_TRUE(both(kNoon - 2h, kNoon).ok());
}

TEST_F(RevocationsTest, OfTwoListsUnderOneNameTheOneThatExpiresFirstCounts) {
  for (const bool brief_first : {true, false}) {
    IssuerRevocations brief = list({"ab"}, kNoon, "CN=A", "1");
    brief.next_update = kNoon + 10min;
    IssuerRevocations lasting = list({"cd"}, kNoon, "CN=A", "2");
    std::vector<IssuerRevocations> both{brief, lasting};
    if (!brief_first) std::swap(both[0], both[1]);
    ASSERT_TRUE(revocations.accept(both, kStart, kNoon).ok());
    EXPECT_EQ(at(10min - 1ms, "ac"), Standing::kGood);
    EXPECT_EQ(at(10min, "ac"), Standing::kUnknown);
    EXPECT_THAT(closed(10min).value_or(""), HasSubstr("CN=A has expired"));
  }
}

TEST_F(RevocationsTest, AListOfTheFutureIsRefusedBeyondAClocksSkew) {
  EXPECT_TRUE(accept(list({}, kNoon + 5min)).ok());
  EXPECT_TRUE(accept(list({}, kNoon + 5min + 1s)).is(Errc::kCorrupt));
}

TEST_F(RevocationsTest, ListsOfSeveralIssuersHoldTogether) {
  std::vector<IssuerRevocations> both{list({"1"}), list({"2"}, kNoon, "CN=B"), list({"3"})};
  ASSERT_TRUE(revocations.accept(both, kStart, kNoon).ok());
  EXPECT_EQ(at(0s, "1"), Standing::kRevoked);
  EXPECT_EQ(at(0s, "3"), Standing::kRevoked);
  EXPECT_EQ(at(0s, "2"), Standing::kGood);
  EXPECT_EQ(at(0s, "2", "CN=B"), Standing::kRevoked);
  // One bad list of a bundle: all of it is refused, what was known stays.
  both[1].next_update = kNoon;
  both[0].serials.clear();
  EXPECT_TRUE(revocations.accept(both, kStart, kNoon).is(Errc::kCorrupt));
  EXPECT_EQ(at(0s, "1"), Standing::kRevoked);
}

}  // namespace revocations_test
}  // namespace muster::security
