#include "log/move.h"

#include <gmock/gmock.h>

#include "log/log_test_world.h"

namespace muster::rlog {
namespace move_test {

using ::testing::ElementsAre;

class MoveTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  MoveTest() { target_.next(world_); }

  struct Elsewhere {
    std::shared_ptr<MemoryObjects> objects = std::make_shared<MemoryObjects>();
    std::unique_ptr<sim::Process> loop;
    std::unique_ptr<ObjectStore> source;
    std::unique_ptr<ObjectStore> store;
    void next(LogWorld& world) {
      loop = std::make_unique<sim::Process>(world.world, 1.0, 0s);
      source = world.store(*loop);
      store = world.store(*loop, objects);
    }
  };
  Move move(const std::string& id = "m1") {
    return {*target_.loop, Random(7), Place{*target_.source, ""}, Place{*target_.store, ""}, id};
  }
  Status prepare(Move& move) {
    return world_.await<Done>([&](Callback<Done> done) { move.prepare(std::move(done)); });
  }
  Status finish(Move& move) {
    return world_.await<Done>([&](Callback<Done> done) { move.finish(std::move(done)); });
  }
  Result<Index> seal(LogWorld::Replica& leader, const std::string& id = "m1") {
    return world_.await<Index>([&](Callback<Index> done) {
      leader.log->seal({id, "memory:"}, std::move(done));
    });
  }
  /// From here on replicas open the target.
  void go_there() { std::swap(world_.objects, target_.objects); }

  LogWorld world_{GetParam()};
  Elsewhere target_;
};

TEST_P(MoveTest, GoesOnElsewhereWithEverythingAcknowledged) {
  const auto leader = world_.leader(3);
  ASSERT_TRUE(world_.append(*leader, "a").ok());
  ASSERT_TRUE(world_.compact(*leader).ok());
  ASSERT_TRUE(world_.append(*leader, "b").ok());
  Move one = move();
  ASSERT_TRUE(prepare(one).ok());
  EXPECT_TRUE(finish(one).is(Errc::kConflict)) << "it is not sealed yet";
  ASSERT_TRUE(seal(*leader).ok());
  EXPECT_FALSE(leader->log->leads());
  EXPECT_TRUE(world_.lead(*leader, 4).is(Errc::kConflict));
  world_.run(1ms);
  ASSERT_TRUE(leader->last<Sealed>().has_value());
  // Compaction carries the seal.
  ASSERT_TRUE(world_.compact(*leader).ok());
  EXPECT_TRUE(world_.lead(*world_.opened(), 5).is(Errc::kConflict));

  ASSERT_TRUE(finish(one).ok());
  ASSERT_TRUE(finish(one).ok()) << "it may be repeated";
  const std::string id = leader->log->log_id();
  go_there();
  const auto there = world_.opened();
  EXPECT_THAT(there->machine.commands, ElementsAre("a", "b"));
  EXPECT_EQ(there->log->log_id(), id);
  EXPECT_TRUE(world_.lead(*there, 2).is(Errc::kConflict)) << "an epoch below the old one";
  ASSERT_TRUE(world_.lead(*there, 4).ok());
  ASSERT_TRUE(world_.append(*there, "c").ok());
  EXPECT_THAT(world_.opened()->machine.commands, ElementsAre("a", "b", "c"));
}

TEST_P(MoveTest, TwoThatFinishItAtOnceBothSucceed) {
  const auto leader = world_.leader(3);
  ASSERT_TRUE(world_.append(*leader, "a").ok());
  Move one = move();
  Move two = move();
  ASSERT_TRUE(prepare(one).ok());
  ASSERT_TRUE(seal(*leader).ok());
  std::optional<Status> first;
  one.finish([&](const Status& status) { first = status; });
  EXPECT_TRUE(finish(two).ok());
  world_.run(10s);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(first->ok()) << first->error().message;
  go_there();
  EXPECT_THAT(world_.opened()->machine.commands, ElementsAre("a"));
}

TEST_P(MoveTest, ATargetThatIsNotFinishedIsRefused) {
  const auto leader = world_.leader(1);
  Move one = move();
  ASSERT_TRUE(prepare(one).ok());
  Move other = move("m2");
  EXPECT_TRUE(prepare(other).is(Errc::kConflict));
  go_there();
  EXPECT_TRUE(world_.open(*world_.replica()).is(Errc::kConflict));
}

TEST_P(MoveTest, ASealForAnotherMoveDecidesAgainstThisOne) {
  const auto leader = world_.leader(1);
  Move one = move();
  ASSERT_TRUE(prepare(one).ok());
  ASSERT_TRUE(seal(*leader, "m2").ok());
  EXPECT_TRUE(finish(one).is(Errc::kConflict));
}

// Wherever the mover and the leader are killed: before the seal is in, nothing has happened, and
// afterwards anyone finishes it. No acknowledged command is lost either way.
TEST_P(MoveTest, KilledAtAnyStepItIsFinishedByTheNextOrNeverHappened) {
  int finished = 0;
  int forgotten = 0;
  bool complete = false;
  for (int steps = 0; !complete; ++steps) {
    LogWorld world(GetParam());
    Elsewhere target;
    target.next(world);
    auto leader = world.leader(3);
    ASSERT_TRUE(world.append(*leader, "a").ok());
    ASSERT_TRUE(world.compact(*leader).ok());
    ASSERT_TRUE(world.append(*leader, "b").ok());
    const auto mover = [&] {
      return std::make_unique<Move>(*target.loop, Random(7), Place{*target.source, ""},
                                    Place{*target.store, ""}, "m1");
    };
    auto one = mover();
    one->prepare([&](const Status& prepared) {
      if (!prepared) return;
      leader->log->seal({"m1", "memory:"}, [&](const Result<Index>& sealed) {
        if (sealed) one->finish([&](const Status& status) { complete = status.ok(); });
      });
    });
    int left = steps;
    world.world.run(world.world.now() + 60s, [&] { return !complete && left-- > 0; });
    one.reset();
    leader.reset();
    target.next(world);

    const auto after = world.opened();
    if (!after->log->position().seal) {
      ++forgotten;
      ASSERT_TRUE(world.lead(*after, 4).ok()) << steps;
      ASSERT_TRUE(world.append(*after, "c").ok()) << steps;
      EXPECT_THAT(after->machine.commands, ElementsAre("a", "b", "c")) << steps;
      continue;
    }
    ++finished;
    const auto two = mover();
    ASSERT_TRUE(world.await<Done>([&](Callback<Done> done) { two->finish(std::move(done)); }).ok())
        << steps;
    std::swap(world.objects, target.objects);
    const auto there = world.opened();
    EXPECT_THAT(there->machine.commands, ElementsAre("a", "b")) << steps;
    ASSERT_TRUE(world.lead(*there, 4).ok()) << steps;
    ASSERT_TRUE(world.append(*there, "c").ok()) << steps;
  }
  EXPECT_GT(forgotten, 3);
  EXPECT_GT(finished, 10);
}

TEST_P(MoveTest, RestoresABackupUnderANewId) {
  const auto leader = world_.leader(1);
  ASSERT_TRUE(world_.append(*leader, "a").ok());
  ASSERT_TRUE(world_.compact(*leader).ok());
  ASSERT_TRUE(world_.append(*leader, "b").ok());
  std::string archive;
  Backup backup(*target_.loop, Random(3), Place{*target_.source, ""}, [&](std::string_view bytes) {
    archive += bytes;
    return Status(Done{});
  });
  const auto saved =
      world_.await<Index>([&](Callback<Index> done) { backup.start(std::move(done)); });
  ASSERT_EQ(*saved, leader->log->applied());

  const auto restore = [&](const std::string& bytes) {
    std::size_t at = 0;
    Restore one(*target_.loop, Random(4), Place{*target_.store, ""},
                [&](std::size_t count) -> Result<std::string> {
                  std::string some = bytes.substr(at, std::min<std::size_t>(count, 100));
                  at += some.size();
                  return some;
                });
    return world_.await<Index>([&](Callback<Index> done) { one.start(std::move(done)); });
  };
  const auto restored = restore(archive);
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(*restored, *saved);
  EXPECT_TRUE(restore(archive).is(Errc::kConflict)) << "a log is there now";
  const std::string id = leader->log->log_id();
  go_there();
  const auto there = world_.opened();
  EXPECT_THAT(there->machine.commands, ElementsAre("a", "b"));
  EXPECT_NE(there->log->log_id(), id);
  ASSERT_TRUE(world_.lead(*there, 2).ok());
  ASSERT_TRUE(world_.compact(*there).ok());
  ASSERT_TRUE(world_.append(*there, "c").ok());
  EXPECT_THAT(world_.opened()->machine.commands, ElementsAre("a", "b", "c"));

  for (const std::size_t cut : {std::size_t{5}, archive.size() / 2, archive.size() - 1}) {
    target_.objects = std::make_shared<MemoryObjects>();
    target_.next(world_);
    EXPECT_TRUE(restore(archive.substr(0, cut)).is(Errc::kCorrupt)) << cut;
  }
  target_.objects = std::make_shared<MemoryObjects>();
  target_.next(world_);
  std::string flipped = archive;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  EXPECT_TRUE(restore(flipped).is(Errc::kCorrupt));
}

INSTANTIATE_TEST_SUITE_P(Stores, MoveTest, kAllStores, name_of);

}  // namespace move_test
}  // namespace muster::rlog
