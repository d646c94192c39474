// One object at a time: what get, put, guarded_put and remove must answer.
#include <string>

#include "tests/support/store_conformance.h"

namespace muster {
namespace {

TEST_P(StoreConformance, AnAbsentObjectIsNotFound) {
  keeps_promise("absent object");
  EXPECT_TRUE(store().get("nothing", Revision("1")).is(Errc::kNotFound));
}

TEST_P(StoreConformance, WhatWasCreatedIsReadBackByEveryHandle) {
  keeps_promise("read after create");
  create("aged");
  // The store's clock may be a little ahead of its own stamp's rounding, never far.
  EXPECT_GE(other().get("aged")->age.value_or(0s), -2s);
}

TEST_P(StoreConformance, CreatingTwiceIsAConflictAndKeepsTheFirst) {
  keeps_promise("create twice");
}

TEST_P(StoreConformance, TheCurrentRevisionMayBeReplaced) {
  keeps_promise("current revision");
}

// S11: what changed since it was read is never overwritten.
TEST_P(StoreConformance, AStaleRevisionIsAConflictAndChangesNothing) {
  keeps_promise("stale revision");
}

TEST_P(StoreConformance, ARevisionOfAnAbsentObjectIsAConflict) {
  keeps_promise("revision of an absent object");
}

TEST_P(StoreConformance, AnUnconditionalPutCreatesAndReplaces) {
  keeps_promise("unconditional write");
}

TEST_P(StoreConformance, RevisionsOfOneKeyNeverRepeat) {
  keeps_promise("revisions never repeat");
}

TEST_P(StoreConformance, AReaderWhoKnowsTheRevisionIsToldUnchangedUntilItChanges) {
  const Revision first = create("key");
  EXPECT_TRUE(store().get("key", first).is(Errc::kUnchanged));
  EXPECT_TRUE(other().get("key", first).is(Errc::kUnchanged));
  const auto second = store().put("key", "changed", Precondition::at(first));
  ASSERT_TRUE(second);
  const auto read = other().get("key", first);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->body, "changed");
  EXPECT_EQ(read->revision, *second);
}

TEST_P(StoreConformance, AnEmptyBodyIsABody) {
  keeps_promise("empty body");
}

TEST_P(StoreConformance, ALargeBodyIsKeptToTheByte) {
  keeps_promise("large body");
}

TEST_P(StoreConformance, EveryByteMayBeInABody) {
  keeps_promise("every byte");
}

TEST_P(StoreConformance, ARemovedObjectIsGoneForEveryHandle) {
  keeps_promise("removal");
}

TEST_P(StoreConformance, RemovingWhatIsAbsentIsNotFoundWhereTheStoreCanTell) {
  keeps_promise("removal of an absent object");
}

// S17: removal at a revision is decided by the store, or refused; never a look and a blind delete.
TEST_P(StoreConformance, RemovalAtARevisionIsDecidedByTheStoreOrUnsupported) {
  keeps_promise("removal at a revision");
  if (capabilities().conditional_remove) return;
  const Revision current = create("kept");
  EXPECT_TRUE(store().remove("kept", current).is(Errc::kUnsupported));
  EXPECT_TRUE(store().get("kept")) << "an unsupported removal must change nothing";
}

TEST_P(StoreConformance, AGuardedPutHappensOnlyWhenBothConditionsHold) {
  const Revision guard_old = create("guard");
  const auto guard_now = store().put("guard", fresh_body(), Precondition::at(guard_old));
  ASSERT_TRUE(guard_now);
  const Guard holds{"guard", Precondition::at(*guard_now)};
  const Guard fails{"guard", Precondition::at(guard_old)};
  const Revision current = create("held");
  if (!capabilities().guarded_put) {
    EXPECT_TRUE(store()
                    .guarded_put("new", fresh_body(), Precondition::absent(), holds)
                    .is(Errc::kUnsupported));
    EXPECT_TRUE(store().get("new").is(Errc::kNotFound));
    return;
  }
  const auto put = [&](const Precondition& when, const Guard& guard) {
    return other().guarded_put("held", fresh_body(), when, guard);
  };
  EXPECT_TRUE(put(Precondition::absent(), fails).is(Errc::kConflict));
  EXPECT_TRUE(put(Precondition::absent(), holds).is(Errc::kConflict));
  EXPECT_TRUE(put(Precondition::at(current), fails).is(Errc::kConflict));
  EXPECT_EQ(store().get("held")->revision, current);
  const auto replaced = put(Precondition::at(current), holds);
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_EQ(store().get("held")->revision, *replaced);
}

TEST_P(StoreConformance, AGuardMayDemandThatItsKeyIsAbsent) {
  if (!capabilities().guarded_put) {
    EXPECT_TRUE(store()
                    .guarded_put("new", fresh_body(), {}, {"guard", Precondition::absent()})
                    .is(Errc::kUnsupported));
    return;
  }
  const Guard absent{"guard", Precondition::absent()};
  EXPECT_TRUE(store().guarded_put("one", fresh_body(), Precondition::absent(), absent));
  const Revision guard = create("guard");
  EXPECT_TRUE(
      store().guarded_put("two", fresh_body(), Precondition::absent(), absent).is(Errc::kConflict));
  EXPECT_TRUE(store().get("two").is(Errc::kNotFound));
  EXPECT_TRUE(store().guarded_put("two", fresh_body(), {}, {"guard", Precondition::at(guard)}));
}

TEST_P(StoreConformance, APastDeadlineIsUnavailableAndWritesNothing) {
  create("kept");
  store().patience = -1s;
  EXPECT_TRUE(store().get("kept").is(Errc::kUnavailable));
  EXPECT_TRUE(store().list("").is(Errc::kUnavailable));
  EXPECT_TRUE(store().put("late", fresh_body()).is(Errc::kUnavailable));
  EXPECT_TRUE(store().put("late", fresh_body(), Precondition::absent()).is(Errc::kUnavailable));
  EXPECT_TRUE(store().remove("kept").is(Errc::kUnavailable));
  EXPECT_TRUE(other().get("late").is(Errc::kNotFound));
  EXPECT_TRUE(other().get("kept"));
}

TEST_P(StoreConformance, NothingIsDeliveredOnceTheStoreIsDestroyed) {
  create("key");
  TestStore& doomed = open_handle();
  auto delivered = std::make_shared<int>(0);
  doomed.thread().run([&] {
    const Deadline by = doomed.deadline();
    const auto count = [delivered](const auto&) { ++*delivered; };
    for (int i = 0; i < 8; ++i) {
      doomed.store().get("key", {}, by, count);
      doomed.store().put("key" + std::to_string(i), "body", {}, by, count);
      doomed.store().remove("absent", {}, by, count);
      doomed.store().list("", "", by, count);
    }
  });
  doomed.destroy();
  int before = 0;
  doomed.thread().run([&] { before = *delivered; });
  // Whatever was on its way has had time to arrive once these have made the same way.
  for (int i = 0; i < 20; ++i) {
    const auto put = other().put("after", fresh_body());
    ASSERT_TRUE(put) << put.error().message;
  }
  doomed.thread().run([&] { EXPECT_EQ(*delivered, before); });
}

}  // namespace
}  // namespace muster
