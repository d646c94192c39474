// One object at a time: what get, put, guarded_put and remove must answer.
#include <string>

#include "tests/support/store_conformance.h"

namespace muster {
namespace {

TEST_P(StoreConformance, AnAbsentObjectIsNotFound) {
  EXPECT_TRUE(store().get("nothing").is(Errc::kNotFound));
  EXPECT_TRUE(store().get("nothing", Revision("1")).is(Errc::kNotFound));
}

TEST_P(StoreConformance, WhatWasCreatedIsReadBackByEveryHandle) {
  const auto made = store().put("key", "body", Precondition::absent());
  ASSERT_TRUE(made) << made.error().message;
  for (TestStore* reader : {&store(), &other()}) {
    const auto read = reader->get("key");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->body, "body");
    EXPECT_EQ(read->revision, *made);
    // The store's clock may be a little ahead of its own stamp's rounding, never far.
    EXPECT_GE(read->age.value_or(0s), -2s);
  }
}

TEST_P(StoreConformance, CreatingTwiceIsAConflictAndKeepsTheFirst) {
  ASSERT_TRUE(store().put("key", "first", Precondition::absent()));
  EXPECT_TRUE(store().put("key", "second", Precondition::absent()).is(Errc::kConflict));
  EXPECT_TRUE(other().put("key", "third", Precondition::absent()).is(Errc::kConflict));
  EXPECT_EQ(store().get("key")->body, "first");
}

TEST_P(StoreConformance, TheCurrentRevisionMayBeReplaced) {
  const Revision first = create("key");
  const auto second = other().put("key", "new", Precondition::at(first));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(*second, first);
  const auto read = store().get("key");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->body, "new");
  EXPECT_EQ(read->revision, *second);
}

// S11: what changed since it was read is never overwritten.
TEST_P(StoreConformance, AStaleRevisionIsAConflictAndChangesNothing) {
  const Revision first = create("key");
  ASSERT_TRUE(store().put("key", "current", Precondition::at(first)));
  EXPECT_TRUE(other().put("key", "late", Precondition::at(first)).is(Errc::kConflict));
  EXPECT_EQ(store().get("key")->body, "current");
}

TEST_P(StoreConformance, ARevisionOfAnAbsentObjectIsAConflict) {
  const Revision gone = create("gone");
  ASSERT_TRUE(store().remove("gone"));
  EXPECT_TRUE(store().put("gone", fresh_body(), Precondition::at(gone)).is(Errc::kConflict));
  EXPECT_TRUE(store().put("never", fresh_body(), Precondition::at(gone)).is(Errc::kConflict));
  EXPECT_TRUE(store().get("gone").is(Errc::kNotFound));
  EXPECT_TRUE(store().get("never").is(Errc::kNotFound));
}

TEST_P(StoreConformance, AnUnconditionalPutCreatesAndReplaces) {
  const auto first = store().put("key", "one");
  ASSERT_TRUE(first) << first.error().message;
  const auto second = other().put("key", "two");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(*first, *second);
  EXPECT_EQ(store().get("key")->body, "two");
}

TEST_P(StoreConformance, RevisionsOfOneKeyNeverRepeat) {
  std::vector<Revision> seen;
  for (int i = 0; i < 20; ++i) {
    // Every third one is removed in between: an object made anew must not look like the old one.
    if (i % 3 == 2) {
      ASSERT_TRUE(store().remove("key"));
    }
    const auto written = store().put("key", fresh_body());
    ASSERT_TRUE(written) << written.error().message;
    for (const Revision& earlier : seen) EXPECT_NE(earlier, *written);
    seen.push_back(*written);
  }
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
  const auto made = store().put("empty", "", Precondition::absent());
  ASSERT_TRUE(made) << made.error().message;
  const auto read = other().get("empty");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->body, "");
  EXPECT_EQ(read->revision, *made);
}

TEST_P(StoreConformance, ALargeBodyIsKeptToTheByte) {
  std::string body(GetParam().largest_body, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>((i * 31 + i / 251));
  ASSERT_TRUE(store().put("large", body, Precondition::absent()));
  const auto read = other().get("large");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->body == body);
}

TEST_P(StoreConformance, EveryByteMayBeInABody) {
  std::string body;
  for (int round = 0; round < 3; ++round) {
    for (int byte = 0; byte < 256; ++byte) body.push_back(static_cast<char>(byte));
  }
  body += "\r\n\r\n";
  ASSERT_TRUE(store().put("binary", body));
  EXPECT_EQ(other().get("binary")->body, body);
}

TEST_P(StoreConformance, ARemovedObjectIsGoneForEveryHandle) {
  create("key");
  const Status removed = other().remove("key");
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(store().get("key").is(Errc::kNotFound));
  EXPECT_TRUE(store().put("key", fresh_body(), Precondition::absent()));
}

TEST_P(StoreConformance, RemovingWhatIsAbsentIsNotFoundWhereTheStoreCanTell) {
  const Status removed = store().remove("nothing");
  // S3 answers 204 whether there was an object or not, and a look beforehand would be a lie (S17).
  if (capabilities().conditional_remove) {
    EXPECT_TRUE(removed.is(Errc::kNotFound));
  } else {
    EXPECT_TRUE(removed || removed.is(Errc::kNotFound)) << removed.error().message;
  }
}

// S17: removal at a revision is decided by the store, or refused; never a look and a blind delete.
TEST_P(StoreConformance, RemovalAtARevisionIsDecidedByTheStoreOrUnsupported) {
  const Revision first = create("key");
  const auto second = store().put("key", fresh_body(), Precondition::at(first));
  ASSERT_TRUE(second);
  if (!capabilities().conditional_remove) {
    EXPECT_TRUE(store().remove("key", *second).is(Errc::kUnsupported));
    EXPECT_TRUE(store().get("key")) << "an unsupported removal must change nothing";
    return;
  }
  EXPECT_TRUE(other().remove("key", first).is(Errc::kConflict));
  EXPECT_TRUE(store().get("key"));
  EXPECT_TRUE(other().remove("key", *second));
  EXPECT_TRUE(store().get("key").is(Errc::kNotFound));
  EXPECT_TRUE(store().remove("key", *second).is(Errc::kNotFound));
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
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(other().put("after", fresh_body()));
  doomed.thread().run([&] { EXPECT_EQ(*delivered, before); });
}

}  // namespace
}  // namespace muster
