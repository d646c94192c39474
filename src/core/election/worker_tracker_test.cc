#include "core/election/worker_tracker.h"

#include <gtest/gtest.h>

namespace muster {
namespace worker_tracker_test {

constexpr MonoTime kStart{1000s};
using Ids = std::vector<WorkerId>;

WorkerTracker::Sighting file(const char* id, const char* revision) {
  return {WorkerId(id), Revision(revision)};
}

// S21: workers:updated and workerTimeouts come from here.
TEST(WorkerTrackerTest, AWorkerIsLiveWhileItsFileKeepsChanging) {
  WorkerTracker tracker(20s);
  EXPECT_EQ(tracker.observe({file("a", "1"), file("b", "1")}, kStart).appeared,
            (Ids{WorkerId("a"), WorkerId("b")}));
  EXPECT_FALSE(tracker.observe({file("a", "2"), file("b", "1")}, kStart + 10s).any());
  EXPECT_EQ(tracker.observe({file("a", "2"), file("b", "1")}, kStart + 20s).timed_out,
            Ids{WorkerId("b")});
  EXPECT_EQ(tracker.live(), Ids{WorkerId("a")});
}

TEST(WorkerTrackerTest, ASilentWorkerThatWritesAgainIsBack) {
  WorkerTracker tracker(20s);
  (void)tracker.observe({file("a", "1")}, kStart);
  (void)tracker.observe({file("a", "1")}, kStart + 20s);
  EXPECT_EQ(tracker.silent(kStart + 25s).at(0).silence, 25s);
  EXPECT_EQ(tracker.observe({file("a", "2")}, kStart + 30s).appeared, Ids{WorkerId("a")});
  EXPECT_TRUE(tracker.silent(kStart + 30s).empty());
}

TEST(WorkerTrackerTest, AFileThatIsGoneOrSaysStoppedHasLeft) {
  WorkerTracker tracker(20s);
  (void)tracker.observe({file("a", "1"), file("b", "1")}, kStart);
  EXPECT_EQ(tracker.observe({file("b", "1")}, kStart + 1s).left, Ids{WorkerId("a")});
  EXPECT_EQ(tracker.stopped(WorkerId("b"), Revision("1")).left, Ids{WorkerId("b")});
  EXPECT_FALSE(tracker.stopped(WorkerId("b"), Revision("1")).any());
}

TEST(WorkerTrackerTest, AStopReadAtAnOldRevisionDoesNotCount) {
  WorkerTracker tracker(20s);
  (void)tracker.observe({file("a", "2")}, kStart);
  EXPECT_FALSE(tracker.stopped(WorkerId("a"), Revision("1")).any());
}

// R07, R12: unchanged at two looks of one's own, however far apart, a file was not written between.
TEST(WorkerTrackerTest, WhatFellSilentWhileNobodyLookedIsSilentAndNotCounted) {
  WorkerTracker tracker(20s);
  (void)tracker.observe({file("a", "1"), file("b", "1")}, kStart);
  tracker.look_away({});
  const auto changes = tracker.observe({file("a", "9"), file("b", "1")}, kStart + 300s);
  EXPECT_TRUE(changes.timed_out.empty());
  EXPECT_TRUE(changes.appeared.empty());
  EXPECT_EQ(tracker.live(), Ids{WorkerId("a")});
  EXPECT_EQ(tracker.silent(kStart + 300s).at(0).silence, 300s);
  EXPECT_EQ(tracker.observe({file("a", "9")}, kStart + 320s).timed_out, Ids{WorkerId("a")});
}

// R12: whom the last leader had given up is not counted a second time by the next.
TEST(WorkerTrackerTest, AFileThatTheLastLeaderDidNotNameCountsOnceItChanges) {
  WorkerTracker tracker(20s);
  tracker.look_away(Ids{WorkerId("a")});
  EXPECT_EQ(tracker.observe({file("a", "1"), file("b", "1"), file("c", "1")}, kStart).appeared,
            Ids{WorkerId("a")});
  const auto changes =
      tracker.observe({file("a", "2"), file("b", "1"), file("c", "2")}, kStart + 20s);
  EXPECT_EQ(changes.appeared, Ids{WorkerId("c")});
  EXPECT_TRUE(changes.timed_out.empty());
}

}  // namespace worker_tracker_test
}  // namespace muster
