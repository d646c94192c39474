// What the store itself knows to be damaged or lost: the replica stops, names it, and it can be
// repaired. That it does not answer for a while, on the other hand, is waited for.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "core/log/manifest.h"
#include "log/inspect.h"
#include "log/keys.h"
#include "log/log_test_world.h"
#include "log/move.h"
#include "log/replicated_log.h"
#include "platform/event_loop.h"
#include "store/file/test_client.h"
#include "store/open/open.h"

namespace muster::rlog {
namespace damage_test {

using ::testing::HasSubstr;

const Error kDamaged{Errc::kCorrupt, "does not match its checksum"};
const Error kSilent{Errc::kUnavailable, "does not answer"};

class DamageTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  void append(LogWorld::Replica& replica, int count) {
    for (int i = 0; i < count; ++i) ASSERT_TRUE(world_.append(replica, "c").ok());
  }
  void fail(const Key& key, const Error& error) { world_.troubles->gets.emplace(key, error); }
  Manifest manifest() {
    return *decode_manifest(world_.objects->entries().at(keys_.manifest()).body);
  }
  Key part_of(const SnapshotRef& ref) {
    return Keys::part(keys_.snapshot(ref.position.index, ref.position.epoch, ref.nonce), 0);
  }
  void expect_stopped(const LogWorld::Replica& replica, Errc code, const Key& key) {
    const auto stopped = replica.last<Stopped>();
    ASSERT_TRUE(stopped.has_value());
    EXPECT_EQ(stopped->reason.code, code);
    EXPECT_THAT(stopped->reason.message, HasSubstr(key));
  }
  Result<Inspection> inspect() {
    sim::Process loop(world_.world, 1.0, 0s);
    const auto store = world_.store(loop);
    Inspect inspect(loop, Random(1), Place{*store, ""});
    return world_.await<Inspection>(
        [&](Callback<Inspection> done) { inspect.start(std::move(done)); });
  }

  LogWorld world_{GetParam()};
  Keys keys_;
};

TEST_P(DamageTest, AManifestThatTheStoreFindsDamagedStopsTheReplica) {
  const auto leader = world_.leader(1);
  fail(keys_.manifest(), kDamaged);
  const auto fresh = world_.replica();
  EXPECT_TRUE(world_.open(*fresh).is(Errc::kCorrupt));
  world_.run(1s);
  expect_stopped(*fresh, Errc::kCorrupt, keys_.manifest());
}

TEST_P(DamageTest, AnEntryThatTheStoreFindsDamagedStopsTheReplica) {
  const auto leader = world_.leader(1);
  append(*leader, 5);
  fail(keys_.entry(Index(4)), kDamaged);
  const auto fresh = world_.replica();
  EXPECT_TRUE(world_.open(*fresh).is(Errc::kCorrupt));
  world_.run(1s);
  expect_stopped(*fresh, Errc::kCorrupt, keys_.entry(Index(4)));
}

TEST_P(DamageTest, TheLastEntryAppliedIsFoundDamagedToo) {
  const auto leader = world_.leader(1);
  append(*leader, 5);
  const auto follower = world_.opened();
  fail(keys_.entry(Index(6)), kDamaged);
  world_.run(60s);
  expect_stopped(*follower, Errc::kCorrupt, keys_.entry(Index(6)));
}

TEST_P(DamageTest, APartThatTheStoreFindsDamagedStopsTheReplica) {
  const auto leader = world_.leader(1);
  append(*leader, 5);
  ASSERT_TRUE(world_.compact(*leader).ok());
  const Key part = part_of(*manifest().latest);
  fail(part, kDamaged);
  const auto fresh = world_.replica();
  EXPECT_TRUE(world_.open(*fresh).is(Errc::kCorrupt));
  world_.run(1s);
  expect_stopped(*fresh, Errc::kCorrupt, part);
}

TEST_P(DamageTest, ALostPartStopsTheReplicaToo) {
  const auto leader = world_.leader(1);
  append(*leader, 5);
  ASSERT_TRUE(world_.compact(*leader).ok());
  const Key part = part_of(*manifest().latest);
  ASSERT_TRUE(world_.objects->remove(part, {}).ok());
  const auto fresh = world_.replica();
  const auto opened = world_.open(*fresh);
  ASSERT_TRUE(opened.is(Errc::kCorrupt));
  EXPECT_THAT(opened.error().message, HasSubstr(part + " is gone"));
}

TEST_P(DamageTest, NobodyLeadsBeforeTheLastEntryAppliedIsFound) {
  const auto leader = world_.leader(1);
  append(*leader, 5);
  const auto follower = world_.opened();
  const Key last = keys_.entry(Index(6));
  // The store went back, and does not show it yet.
  ASSERT_TRUE(world_.objects->remove(last, {}).ok());
  fail(last, kSilent);
  bool led = false;
  follower->log->lead(Epoch(2), Incarnation("run-2"),
                      [&](const Status& status) { led = status.ok(); });
  world_.run(5s);
  EXPECT_FALSE(led);
  world_.troubles->gets.clear();
  world_.run(5s);
  EXPECT_FALSE(led);
  expect_stopped(*follower, Errc::kConflict, last);
}

TEST_P(DamageTest, ALeaderLooksForTheLastEntryAppliedAlsoWhenItNeverReads) {
  Options options;
  options.poll_interval = 1h;
  const auto leader = world_.leader(1, options);
  append(*leader, 5);
  world_.run(31s);
  const Key last = keys_.entry(Index(6));
  ASSERT_TRUE(world_.objects->remove(last, {}).ok());
  EXPECT_FALSE(world_.append(*leader, "late").ok());
  world_.run(1s);
  expect_stopped(*leader, Errc::kConflict, last);
}

TEST_P(DamageTest, WhatTheStoreFindsDamagedIsFoundNamedAndRepaired) {
  const auto leader = world_.leader(1);
  append(*leader, 5);
  ASSERT_TRUE(world_.compact(*leader).ok());
  append(*leader, 5);
  const Key part = part_of(*manifest().latest);
  const Key entry = keys_.entry(Index(8));
  const std::string copy = world_.objects->entries().at(entry).body;
  fail(part, kDamaged);
  fail(entry, kDamaged);
  const auto found = inspect();
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->findings.size(), 2U);
  EXPECT_EQ(found->findings[0].object, part);
  EXPECT_EQ(found->findings[1].object, entry);
  EXPECT_EQ(found->head, Index(11)) << "what follows is looked at as well";

  sim::Process loop(world_.world, 1.0, 0s);
  const auto store = world_.store(loop);
  RepairEntry repair(loop, Random(1), Place{*store, ""}, Index(8), copy);
  ASSERT_TRUE(world_.await<Done>([&](Callback<Done> done) { repair.start(std::move(done)); }).ok());
  EXPECT_EQ(inspect()->findings.size(), 1U);
}

TEST_P(DamageTest, OpeningSaysWhatItWaitsForAndOnlyOnce) {
  const auto leader = world_.leader(1);
  append(*leader, 1);
  fail(keys_.manifest(), {Errc::kDenied, "access denied"});
  const auto fresh = world_.replica();
  bool opened = false;
  fresh->log->open([&](const Status& status) { opened = status.ok(); });
  world_.run(5s);
  ASSERT_EQ(fresh->events.size(), 1U);
  EXPECT_THAT(fresh->last<Delayed>()->reason.message, HasSubstr("access denied"));
  world_.troubles->gets.clear();
  fail(keys_.entry(Index(1)), kSilent);
  world_.run(5s);
  ASSERT_EQ(fresh->events.size(), 2U);
  EXPECT_THAT(fresh->last<Delayed>()->reason.message, HasSubstr("does not answer"));
  EXPECT_FALSE(opened);
  world_.troubles->gets.clear();
  world_.run(5s);
  EXPECT_TRUE(opened);
}

INSTANTIATE_TEST_SUITE_P(Stores, DamageTest, kAllStores, name_of);

/// A replica on a real directory, on this thread.
class DamagedFileTest : public ::testing::Test {
 protected:
  template <typename T>
  Result<T> await(const std::function<void(Callback<T>)>& call) {
    auto answer = std::make_shared<std::optional<Result<T>>>();
    call([answer](Result<T> result) { answer->emplace(std::move(result)); });
    const MonoTime end = loop_.now() + 20s;
    while (!*answer && loop_.now() < end) loop_.run_until(loop_.now() + 1ms);
    if (!*answer) return {Errc::kCancelled, "no answer"};
    return std::move(**answer);
  }
  std::unique_ptr<ReplicatedLog> replica(CommandList& machine) {
    Options options;
    options.create = true;
    return std::make_unique<ReplicatedLog>(
        options, Surroundings{loop_, *store_, Random(next_seed_++), machine, {}});
  }
  static Status open(DamagedFileTest& self, ReplicatedLog& log) {
    return self.await<Done>([&](Callback<Done> done) { log.open(std::move(done)); });
  }
  /// The file that keeps `key`, found by its name.
  [[nodiscard]] std::filesystem::path file_of(const Key& key) const {
    const std::string name = std::filesystem::path(key).filename();
    for (const auto& each : std::filesystem::recursive_directory_iterator(dir_.path())) {
      if (each.path().filename() == name) return each.path();
    }
    ADD_FAILURE() << "no file for " << key;
    return {};
  }
  static void flip_last_bit(const std::filesystem::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-1, std::ios::end);
    const int last = file.get();
    file.seekp(-1, std::ios::end);
    file.put(static_cast<char>(last ^ 1));
  }

  /// A log of `entries` commands, whose leader has ended.
  void fill(CommandList& machine, int entries) {
    const auto leader = replica(machine);
    ASSERT_TRUE(open(*this, *leader).ok());
    ASSERT_TRUE(await<Done>([&](Callback<Done> done) {
                  leader->lead(Epoch(1), Incarnation("run"), std::move(done));
                }).ok());
    for (int i = 0; i < entries; ++i) {
      ASSERT_TRUE(
          await<Ack>([&](Callback<Ack> done) { leader->append("c", std::move(done)); }).ok());
    }
  }
  Result<Inspection> inspect() {
    Inspect inspect(loop_, Random(1), Place{*store_, ""});
    return await<Inspection>([&](Callback<Inspection> done) { inspect.start(std::move(done)); });
  }

  file::TempDir dir_;
  EventLoop loop_;
  std::unique_ptr<ObjectStore> store_ =
      std::move(*open_store("file://" + dir_.path() + "?sync=off", loop_, {}));
  std::uint64_t next_seed_ = 1;
  Keys keys_;
};

TEST_F(DamagedFileTest, AFlippedBitIsNamedAtOnceAndRepaired) {
  CommandList first;
  fill(first, 4);
  const Key key = keys_.entry(Index(3));
  const auto whole =
      await<Object>([&](Callback<Object> done) { store_->get(key, {}, loop_.now() + 5s, done); });
  ASSERT_TRUE(whole.ok());
  flip_last_bit(file_of(key));

  CommandList second;
  const auto refused = open(*this, *replica(second));
  ASSERT_TRUE(refused.is(Errc::kCorrupt)) << refused.error().message;
  EXPECT_THAT(refused.error().message, HasSubstr(key));
  EXPECT_THAT(refused.error().message, HasSubstr(file_of(key).string()));
  const auto found = inspect();
  ASSERT_EQ(found->findings.size(), 1U);
  EXPECT_EQ(found->findings[0].object, key);
  EXPECT_THAT(found->findings[0].problem, HasSubstr(file_of(key).string()));

  RepairEntry repair(loop_, Random(1), Place{*store_, ""}, Index(3), whole->body);
  ASSERT_TRUE(await<Done>([&](Callback<Done> done) { repair.start(std::move(done)); }).ok());
  CommandList third;
  const auto healed = replica(third);
  ASSERT_TRUE(open(*this, *healed).ok());
  EXPECT_EQ(third.commands, first.commands);
}

// The store lets anybody replace what is damaged; a log must not.
TEST_F(DamagedFileTest, AnEmptyFileStopsTheReplicaAndABackup) {
  CommandList first;
  fill(first, 4);
  for (const Key& key : {keys_.entry(Index(5)), keys_.manifest()}) {
    const std::filesystem::path file = file_of(key);
    std::filesystem::resize_file(file, 0);
    CommandList second;
    const auto refused = open(*this, *replica(second));
    ASSERT_TRUE(refused.is(Errc::kCorrupt)) << refused.error().message;
    EXPECT_THAT(refused.error().message, HasSubstr(key));
    EXPECT_THAT(refused.error().message, HasSubstr(file.string()));
    Backup backup(loop_, Random(1), Place{*store_, ""},
                  [](std::string_view) { return Status(Done{}); });
    const auto kept = await<Index>([&](Callback<Index> done) { backup.start(std::move(done)); });
    ASSERT_TRUE(kept.is(Errc::kCorrupt)) << kept.error().message;
    EXPECT_THAT(kept.error().message, HasSubstr(file.string()));
    EXPECT_EQ(std::filesystem::file_size(file), 0U);
  }
}

}  // namespace damage_test
}  // namespace muster::rlog
