#include <gmock/gmock.h>

#include "core/log/manifest.h"
#include "log/inspect.h"
#include "log/keys.h"
#include "log/log_test_world.h"
#include "log/replicated_log.h"

namespace muster::rlog {
namespace compaction_test {

using ::testing::Contains;
using ::testing::HasSubstr;

class CompactionTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  void append(LogWorld::Replica& replica, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(world_.append(replica, "c" + std::to_string(next_++)).ok());
    }
  }
  Manifest manifest() {
    return *decode_manifest(world_.objects->entries().at(keys_.manifest()).body);
  }
  std::size_t count(const std::string& prefix) {
    std::size_t found = 0;
    for (const auto& [key, entry] : world_.objects->entries()) found += key.starts_with(prefix);
    return found;
  }
  void flip_a_bit(const Key& key) {
    std::string body = world_.objects->entries().at(key).body;
    body[body.size() / 2] = static_cast<char>(body[body.size() / 2] ^ 4);
    ASSERT_TRUE(world_.objects->put(key, body, {}, {}, MonoTime()).ok());
  }
  std::string set_of(const SnapshotRef& ref) {
    return keys_.snapshot(ref.position.index, ref.position.epoch, ref.nonce);
  }
  Inspection inspect() {
    sim::Process loop(world_.world, 1.0, 0s);
    const auto store = world_.store(loop);
    Inspect inspect(loop, Random(1), Place{*store, ""});
    return *world_.await<Inspection>(
        [&](Callback<Inspection> done) { inspect.start(std::move(done)); });
  }

  /// Nobody looks at the store unless asked to.
  static Options unasked() {
    Options options;
    options.poll_interval = 1h;
    return options;
  }
  /// A replica begins to compact and stalls at the held request; others compact twice meanwhile.
  void expect_a_stalled_compactor_changes_nothing(std::optional<Key> Troubles::*hold) {
    const auto leader = world_.leader(1, unasked());
    const auto stalled = world_.opened(unasked());
    append(*leader, 4);
    ASSERT_TRUE(world_.barrier(*stalled).ok());
    std::optional<Result<Index>> compacted;
    (*world_.troubles).*hold = keys_.manifest();
    stalled->log->compact([&](Result<Index> index) { compacted.emplace(std::move(index)); });
    world_.run(1s);
    ASSERT_TRUE(world_.troubles->held);
    for (int i = 0; i < 2; ++i) {
      append(*leader, 5);
      ASSERT_TRUE(world_.compact(*leader).ok());
    }
    const Manifest before = manifest();
    ASSERT_GT(before.floor, Index(5)) << "entries after the stalled snapshot are gone";
    ASSERT_FALSE(compacted.has_value());
    world_.troubles->release();
    world_.run(10s);
    ASSERT_TRUE(compacted.has_value());
    EXPECT_TRUE(compacted->is(Errc::kConflict));
    EXPECT_EQ(manifest(), before);
    EXPECT_EQ(world_.opened()->machine.commands, leader->machine.commands);
  }

  LogWorld world_{GetParam()};
  Keys keys_;
  int next_ = 0;
};

TEST_P(CompactionTest, KeepsTwoSnapshotsAndTheEntriesAfterTheOlder) {
  const auto leader = world_.leader(1);
  append(*leader, 9);  // With the barrier: entries 1 to 10.
  ASSERT_EQ(*world_.compact(*leader), Index(10));
  EXPECT_EQ(manifest().floor, Index(0));
  EXPECT_EQ(count(keys_.log()), 11U);
  append(*leader, 5);
  ASSERT_EQ(*world_.compact(*leader), Index(15));
  EXPECT_EQ(manifest().floor, Index(10));
  EXPECT_EQ(count(keys_.log()), 6U);
  append(*leader, 5);
  ASSERT_EQ(*world_.compact(*leader), Index(20));
  EXPECT_EQ(count(set_of(*manifest().latest)) + count(set_of(*manifest().previous)),
            count(keys_.snapshots()));
  EXPECT_TRUE(world_.compact(*leader).is(Errc::kConflict));

  const auto fresh = world_.opened();
  EXPECT_EQ(fresh->machine.commands, leader->machine.commands);
  EXPECT_EQ(fresh->log->position(), leader->log->position());
  Options older;
  older.use_previous_snapshot = true;
  EXPECT_EQ(world_.opened(older)->machine.commands, leader->machine.commands);
}

TEST_P(CompactionTest, TheLeaderCompactsByItself) {
  Options options;
  options.compact_after_entries = 10;
  options.give_up_after = 100ms;
  const auto leader = world_.leader(1, options);
  for (int i = 0; i < 5; ++i) {
    append(*leader, 10);
    world_.run(1s);
  }
  EXPECT_GE(manifest().floor, Index(20));
  EXPECT_TRUE(leader->last<Compacted>().has_value());
}

TEST_P(CompactionTest, SaysWhenItCannotCompactByItself) {
  Options options;
  options.compact_after_entries = 10;
  const auto leader = world_.leader(1, options);
  append(*leader, 8);
  world_.refuse_puts(keys_.snapshots());
  append(*leader, 3);
  world_.run(5s);
  ASSERT_TRUE(leader->last<CompactionFailed>().has_value());
  EXPECT_THAT(leader->last<CompactionFailed>()->reason.message, HasSubstr("no space"));
}

TEST_P(CompactionTest, APartThatIsTooLongEndsTheCompactionAndNothingElse) {
  const auto leader = world_.leader(1);
  leader->machine.part_bytes = 2 * kPartBytesMax;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(world_.append(*leader, std::string(kPartBytesMax / 4, 'x')).ok());
  }
  EXPECT_TRUE(world_.compact(*leader).is(Errc::kInvalid));
  leader->machine.part_bytes = kPartBytesMax;
  EXPECT_TRUE(world_.compact(*leader).ok());
}

TEST_P(CompactionTest, AReplicaLeftBehindLoadsTheSnapshot) {
  const auto leader = world_.leader(1);
  const auto slow = world_.opened();
  slow->loop.pause(world_.world.now() + 30s);
  append(*leader, 9);
  ASSERT_TRUE(world_.compact(*leader).ok());
  append(*leader, 9);
  ASSERT_TRUE(world_.compact(*leader).ok());
  world_.run(60s);
  EXPECT_EQ(slow->machine.commands, leader->machine.commands);
}

// P21: a leader stalled across two compactions must not create its old number anew, even when it
// has read the newest manifest since.
TEST_P(CompactionTest, AStalledLeaderDoesNotReopenACompactedNumber) {
  Options options;
  options.poll_interval = 1h;
  const auto stalled = world_.leader(1, options);
  append(*stalled, 2);
  const auto leader = world_.opened();
  stalled->loop.pause(world_.world.now() + 40s);
  ASSERT_TRUE(world_.lead(*leader, 2).ok());
  append(*leader, 3);
  ASSERT_TRUE(world_.compact(*leader).ok());
  append(*leader, 3);
  ASSERT_TRUE(world_.compact(*leader).ok());
  ASSERT_GT(manifest().floor, stalled->log->applied());
  std::optional<Result<Ack>> answer;
  stalled->loop.post([&] {
    // The compaction reads the manifest; the append that follows is for a deleted number.
    stalled->log->compact([&](const Result<Index>& compacted) {
      EXPECT_FALSE(compacted.ok());
      stalled->log->append("late", [&](Result<Ack> ack) { answer.emplace(std::move(ack)); });
    });
  });
  world_.run(60s);
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->ok());
  EXPECT_FALSE(stalled->log->leads());
  EXPECT_EQ(stalled->machine.commands, leader->machine.commands);
}

// P24: neither before its last look at the manifest …
TEST_P(CompactionTest, ACompactorThatStalledBeforeItsLookDoesNotSwapTheManifestBack) {
  expect_a_stalled_compactor_changes_nothing(&Troubles::hold_get);
}

// … nor after it.
TEST_P(CompactionTest, ACompactorThatStalledBeforeItsSwapDoesNotSwapTheManifestBack) {
  expect_a_stalled_compactor_changes_nothing(&Troubles::hold_put);
}

// P25: what a follower asks for is compacted while its question is under way. That it is absent
// then does not make the entry before it the head of the log.
TEST_P(CompactionTest, AFollowersReadThatACompactionOvertakesIsNotStale) {
  const auto leader = world_.leader(1, unasked());
  const auto follower = world_.opened(unasked());
  world_.troubles->silent = true;
  const Index behind = follower->log->applied();
  append(*leader, 4);
  ASSERT_TRUE(world_.compact(*leader).ok());
  const Index acknowledged = leader->log->applied();
  std::optional<Result<Index>> answer;
  world_.troubles->hold_get = keys_.entry(next(behind));
  follower->log->read_barrier([&](Result<Index> index) { answer.emplace(std::move(index)); });
  world_.run(100ms);
  ASSERT_TRUE(world_.troubles->held);
  ASSERT_EQ(follower->log->applied(), behind);
  append(*leader, 4);
  ASSERT_TRUE(world_.compact(*leader).ok());
  ASSERT_FALSE(world_.objects->entries().contains(keys_.entry(next(behind))));
  world_.troubles->release();
  world_.run(5s);
  ASSERT_TRUE(answer.has_value());
  ASSERT_TRUE(answer->ok());
  EXPECT_GE(**answer, acknowledged);
  EXPECT_EQ(follower->machine.commands, leader->machine.commands);
}

TEST_P(CompactionTest, StopsAtADamagedEntryAndNamesIt) {
  const auto leader = world_.leader(1);
  append(*leader, 5);
  flip_a_bit(keys_.entry(Index(4)));
  const auto fresh = world_.replica();
  const auto opened = world_.open(*fresh);
  ASSERT_TRUE(opened.is(Errc::kCorrupt));
  EXPECT_THAT(opened.error().message, HasSubstr(keys_.entry(Index(4))));
}

TEST_P(CompactionTest, StopsAtADamagedPartAndComesBackByTheOlderSnapshot) {
  const auto leader = world_.leader(1);
  append(*leader, 9);
  ASSERT_TRUE(world_.compact(*leader).ok());
  append(*leader, 9);
  ASSERT_TRUE(world_.compact(*leader).ok());
  const Key part = Keys::part(set_of(*manifest().latest), 1);
  flip_a_bit(part);
  const auto fresh = world_.replica();
  const auto opened = world_.open(*fresh);
  ASSERT_TRUE(opened.is(Errc::kCorrupt));
  EXPECT_THAT(opened.error().message, HasSubstr(part));

  const Inspection found = inspect();
  ASSERT_EQ(found.findings.size(), 1U);
  EXPECT_EQ(found.findings[0].object, part);

  Options older;
  older.use_previous_snapshot = true;
  const auto back = world_.opened(older);
  EXPECT_EQ(back->machine.commands, leader->machine.commands);
  append(*leader, 1);
  ASSERT_TRUE(world_.compact(*leader).ok());
  EXPECT_EQ(world_.opened()->machine.commands, leader->machine.commands);
}

TEST_P(CompactionTest, RepairsAnEntryOnlyWithItsTrueBytes) {
  const auto leader = world_.leader(1);
  append(*leader, 5);
  const Key key = keys_.entry(Index(3));
  const std::string copy = world_.objects->entries().at(key).body;
  flip_a_bit(key);
  const Inspection found = inspect();
  ASSERT_EQ(found.findings.size(), 1U);
  EXPECT_EQ(found.findings[0].object, key);
  EXPECT_EQ(found.head, Index(6));

  sim::Process loop(world_.world, 1.0, 0s);
  const auto store = world_.store(loop);
  const auto repair = [&](const std::string& bytes) {
    RepairEntry one(loop, Random(1), Place{*store, ""}, Index(3), bytes);
    return world_.await<Done>([&](Callback<Done> done) { one.start(std::move(done)); });
  };
  EntryHeader header = decode_entry(copy)->header;
  header.nonce = Nonce("forged");
  EXPECT_TRUE(repair(encode_entry(header, {})).is(Errc::kInvalid));
  EXPECT_TRUE(repair(copy).ok());
  EXPECT_TRUE(repair(copy).is(Errc::kUnchanged));
  EXPECT_TRUE(inspect().findings.empty());
}

TEST_P(CompactionTest, NeverStartsAnewWhereTheManifestIsGone) {
  const auto leader = world_.leader(1);
  append(*leader, 3);
  ASSERT_TRUE(world_.objects->remove(keys_.manifest(), {}).ok());
  const auto fresh = world_.replica();
  EXPECT_TRUE(world_.open(*fresh).is(Errc::kConflict));
  EXPECT_TRUE(world_.barrier(*leader).is(Errc::kUnavailable));
  world_.run(1s);
  ASSERT_TRUE(leader->last<Stopped>().has_value());
}

TEST_P(CompactionTest, RefusesAnotherLog) {
  const auto leader = world_.leader(1);
  Options options;
  options.log_id = "another";
  const auto stranger = world_.replica(options);
  EXPECT_TRUE(world_.open(*stranger).is(Errc::kConflict));
  options.log_id = leader->log->log_id();
  EXPECT_TRUE(world_.open(*world_.replica(options)).ok());
}

TEST_P(CompactionTest, StopsWhenTheHeadIsBelowWhatWasApplied) {
  const auto leader = world_.leader(1);
  append(*leader, 5);
  const auto follower = world_.opened();
  ASSERT_TRUE(world_.objects->remove(keys_.entry(Index(6)), {}).ok());
  world_.run(60s);
  const auto stopped = follower->last<Stopped>();
  ASSERT_TRUE(stopped.has_value());
  EXPECT_EQ(stopped->reason.code, Errc::kConflict);
}

INSTANTIATE_TEST_SUITE_P(Stores, CompactionTest, kAllStores, name_of);

}  // namespace compaction_test
}  // namespace muster::rlog
