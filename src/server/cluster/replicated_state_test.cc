#include "server/cluster/replicated_state.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "core/cluster/snapshot.h"
#include "core/membership/testing.h"
#include "sim/world.h"
#include "store/memory/memory_store.h"

namespace muster::server {
namespace replicated_state_test {

class ReplicatedStateTest : public ::testing::Test {
 protected:
  std::unique_ptr<ReplicatedState> replica(ReplicatedState::Listener listener) {
    return std::make_unique<ReplicatedState>(
        rlog::Options{}, ReplicatedState::Surroundings{process_, store_, Random(1)},
        std::move(listener));
  }

  sim::World world_{1};
  sim::Process process_{world_, 1.0, 0s};
  MemoryStore store_{process_};
};

TEST_F(ReplicatedStateTest, WhoeverWatchesHearsOfAReplacedStateBeforeAnythingElseCanSeeIt) {
  cluster::ClusterState ahead;
  ASSERT_TRUE(
      ahead.apply(cluster::encode(cluster::ChangeTopology{membership::testing::registration("n")}),
                  {1, 0, {}}));
  cluster::SnapshotParts parts(ahead);
  int reloaded = 0;
  const auto behind =
      replica({.applied = {}, .reloaded = [&] { ++reloaded; }, .deposed = {}, .stopped = {}});
  const auto loader = behind->load();
  while (const auto part = parts.next()) ASSERT_TRUE(loader->part(*part).ok());
  EXPECT_EQ(reloaded, 0);
  ASSERT_TRUE(loader->finish().ok());
  EXPECT_EQ(behind->state().topology().version(), TopologyVersion(1));
  EXPECT_EQ(reloaded, 1);
}

// L8.
TEST_F(ReplicatedStateTest, TheTimeOfABarrierPassesInTheState) {
  const auto here = replica({.applied = [](const std::vector<membership::Event>&) {},
                             .reloaded = {},
                             .deposed = {},
                             .stopped = {}});
  const Incarnation run("run");
  const auto barrier = [&](std::uint64_t index, membership::LogTime time) {
    return rlog::AcceptedEntry{rlog::Index(index),        Epoch(1), run, time, WallTime{},
                               rlog::EntryKind::kBarrier, {}};
  };
  ASSERT_TRUE(here->apply(barrier(1, membership::testing::at(100))).ok());
  EXPECT_EQ(here->state().topology().log_time(), membership::testing::at(100));
  ASSERT_TRUE(here->apply(barrier(2, membership::testing::at(50))).ok());
  EXPECT_EQ(here->state().topology().log_time(), membership::testing::at(100));
}

TEST_F(ReplicatedStateTest, NoMoreServersAreLetInThanMayBeKnown) {
  cluster::ClusterState full;
  const auto announce = [](std::size_t i) {
    return cluster::AnnounceServer{"s" + std::to_string(i), "127.0.0.1:9000", "0.1", 1, {}};
  };
  for (std::size_t i = 0; i < cluster::kServersMax; ++i) {
    ASSERT_TRUE(full.apply(cluster::encode(announce(i)), {i + 1, 0, {}}));
  }
  cluster::SnapshotParts parts(full);
  const auto here = replica({.applied = {}, .reloaded = [] {}, .deposed = {}, .stopped = {}});
  const auto loader = here->load();
  while (const auto part = parts.next()) ASSERT_TRUE(loader->part(*part).ok());
  ASSERT_TRUE(loader->finish().ok());
  std::optional<Errc> answer;
  const auto note = [&](const Result<cluster::Answer>& given) { answer = given.code(); };
  here->propose(announce(cluster::kServersMax), note);
  EXPECT_EQ(answer, Errc::kThrottled);
  here->propose(announce(0), note);
  EXPECT_EQ(answer, Errc::kUnavailable) << "one that is known goes on to the log, not led here";
}

TEST_F(ReplicatedStateTest, WhatAnotherServerDoesNotUnderstandIsNotProposed) {
  bool upgraded = false;
  const auto here = replica({.applied = {},
                             .reloaded = {},
                             .deposed = {},
                             .may_propose = [&](const cluster::Command&) -> Status {
                               if (upgraded) return Done{};
                               return {Errc::kUnsupported, "s3 is older"};
                             },
                             .stopped = {}});
  std::optional<Errc> answer;
  const auto note = [&](const Result<cluster::Answer>& given) { answer = given.code(); };
  here->propose(cluster::ForgetServer{"s1", {}}, note);
  EXPECT_EQ(answer, Errc::kUnsupported);
  upgraded = true;
  here->propose(cluster::ForgetServer{"s1", {}}, note);
  EXPECT_EQ(answer, Errc::kUnavailable) << "it goes on to the log, which is not led here";
}

}  // namespace replicated_state_test
}  // namespace muster::server
