// How a tree stops: graces, the deadline, and children that do not end.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/supervision/supervision_test_scene.h"

namespace muster {
namespace supervision_stop_test {

using Scene = testing::SupervisionScene;

// P05: without a renewal the stop begins by itself, early enough to end before the lease does.
TEST(SupervisionTest, TheDeadlineStopsTheTreeAndOverridesEveryTimeout) {
  Scene scene({.stop_budget = 1200ms, .kill_margin = 600ms}, {{.shutdown = 1h}, {.shutdown = 1h}});
  scene.start(Scene::kBegin + 6s);
  scene.story();
  scene.pass(4200ms - 1ns);
  EXPECT_EQ(scene.story(), "");
  scene.pass(1ns);
  EXPECT_EQ(scene.story(), "ending deadline, term 1");
  scene.pass(600ms);
  EXPECT_EQ(scene.story(), "kill 1") << "The second child keeps its half of the time.";
  scene.exits(1);
  EXPECT_EQ(scene.story(), "term 0");
  scene.pass(600ms);
  EXPECT_EQ(scene.story(), "kill 0");
  EXPECT_EQ(scene.now, Scene::kBegin + 6s - 600ms);
}

// C09: a grace is a child's own, from TERM to KILL, and longer than the lease if all of them are.
TEST(SupervisionTest, WhileTheLeaseIsRenewedEveryChildHasItsWholeGrace) {
  const ChildRules slow{.shutdown = 2500ms};
  Scene scene({.stop_budget = 1200ms, .kill_margin = 600ms}, {slow, slow, slow});
  const auto renewals = [&](Duration d) {
    for (const MonoTime end = scene.now + d; scene.now < end;) {
      scene.note(scene.tree.deadline_moved(scene.now + 5s, scene.now));
      scene.pass(std::min<Duration>(1s, end - scene.now));
    }
  };
  scene.start(Scene::kBegin + 6s);
  scene.story();
  scene.note(scene.tree.stop(scene.now + 9300ms, scene.now));
  EXPECT_EQ(scene.story(), "ending requested, term 2");
  for (const std::size_t child : {2u, 1u, 0u}) {
    renewals(2500ms - 1ns);
    EXPECT_EQ(scene.story(), "") << child;
    renewals(1ns);
    EXPECT_EQ(scene.story(), "kill " + std::to_string(child));
    renewals(500ms);
    scene.exits(child);
    EXPECT_EQ(scene.story(), child == 0 ? "ended" : "term " + std::to_string(child - 1));
  }
}

// P05: the lease overrides a grace also in a clean stop.
TEST(SupervisionTest, WithoutRenewalsAnOrderlyStopIsHurriedAndItsChildrenShareTheTime) {
  const ChildRules slow{.shutdown = 20s};
  Scene scene({.stop_budget = 1200ms, .kill_margin = 600ms}, {slow, slow});
  scene.start(Scene::kBegin + 6s);
  scene.story();
  scene.note(scene.tree.stop(Scene::kFar, scene.now));
  scene.pass(4800ms - 1ns);
  EXPECT_EQ(scene.story(), "ending requested, term 1");
  scene.pass(1ns);
  EXPECT_EQ(scene.story(), "kill 1") << "half of the stop budget after the stop was due";
  scene.exits(1);
  EXPECT_EQ(scene.story(), "term 0");
  scene.pass(600ms);
  EXPECT_EQ(scene.story(), "kill 0");
  EXPECT_EQ(scene.now, Scene::kBegin + 6s - 600ms);
}

TEST(SupervisionTest, TimeThatOneChildDoesNotWishGoesToTheOthers) {
  Scene scene({.stop_budget = 1200ms, .kill_margin = 600ms},
              {{.shutdown = 100ms}, {.shutdown = 1100ms}});
  scene.start(Scene::kBegin + 6s);
  scene.pass(4200ms);
  scene.story();
  scene.pass(1100ms - 1ns);
  EXPECT_EQ(scene.story(), "") << "more than its half, for there is enough";
  scene.pass(1ns);
  EXPECT_EQ(scene.story(), "kill 1");
}

// This process was frozen, and the guardian has ended the child: that is no failure of the child.
TEST(SupervisionTest, AChildThatEndsWhenTheStopIsDueHasNotFailed) {
  Scene setup({.stop_budget = 1200ms, .kill_margin = 600ms}, {{.setup = true}, {}});
  setup.start(Scene::kBegin + 6s);
  setup.now = Scene::kBegin + 5s;
  setup.exits(0);
  EXPECT_EQ(setup.story(), "start 0, ending deadline, ended");
  Scene fragile({.restarts_max = 0, .stop_budget = 1200ms, .kill_margin = 600ms}, {{}});
  fragile.start(Scene::kBegin + 6s);
  fragile.now = Scene::kBegin + 5s;
  fragile.exits(0);
  EXPECT_EQ(fragile.story(), "start 0, ready, ending deadline, ended");
}

TEST(SupervisionTest, AtTheKillMarginEveryChildIsKilledInNoOrder) {
  Scene scene({.stop_budget = 1200ms, .kill_margin = 600ms}, {{}, {}, {}});
  scene.start(Scene::kBegin + 6s);
  scene.story();
  scene.now = Scene::kBegin + 5500ms;  // This process was frozen.
  scene.note(scene.tree.tick(scene.now));
  EXPECT_EQ(scene.story(), "ending deadline, kill 2, kill 1, kill 0");
}

TEST(SupervisionTest, RenewalsKeepTheTreeRunningAndALateOneDoesNotUndoAStop) {
  Scene scene({}, {{}});
  scene.start(Scene::kBegin + 6s);
  for (int n = 1; n < 20; ++n) {
    scene.pass(1s);
    scene.note(scene.tree.deadline_moved(scene.now + 6s, scene.now));
  }
  EXPECT_EQ(scene.story(), "start 0, ready");
  scene.now += 5s;
  scene.note(scene.tree.deadline_moved(scene.now + 6s, scene.now));
  EXPECT_EQ(scene.story(), "ending deadline, term 0");
}

TEST(SupervisionTest, AClosedLeaseKillsAtOnceAndStartsNothing) {
  Scene scene({}, {{}});
  scene.start();
  scene.story();
  scene.note(scene.tree.deadline_moved(MonoTime::min(), scene.now));
  EXPECT_EQ(scene.story(), "ending deadline, kill 0");

  Scene late({}, {{}});
  late.start(Scene::kBegin + 1s);
  EXPECT_EQ(late.story(), "ending deadline, ended");
}

// G3: a child that does not die is named; its siblings are stopped all the same, the tree does not
// end.
TEST(SupervisionTest, AnUnkillableChildIsReportedAndTheTreeDoesNotEndBeforeIt) {
  Scene scene({.kill_margin = 600ms}, {{}, {.shutdown = 1s}});
  scene.start();
  scene.story();
  scene.note(scene.tree.stop(Scene::kFar, scene.now));
  scene.pass(1600ms);
  EXPECT_EQ(scene.story(), "ending requested, term 1, kill 1, unkillable 1, term 0");
  scene.exits(0);
  scene.pass(1h);
  EXPECT_EQ(scene.story(), "");
  scene.exits(1);
  EXPECT_EQ(scene.story(), "ended");
}

// G3: no leader without work, also when nobody has asked for the end of what will not end.
TEST(SupervisionTest, AChildThatIsStuckFailsTheTreeAndTheOthersDoNotWaitForIt) {
  Scene scene({}, {{}, {}});
  scene.start();
  scene.story();
  scene.note(scene.tree.child_stuck(1, scene.now));
  EXPECT_EQ(scene.story(), "unkillable 1, ending lost, term 0");
  scene.note(scene.tree.child_stuck(1, scene.now));
  scene.exits(0);
  scene.pass(1min);
  EXPECT_EQ(scene.story(), "") << "it is still there";
  scene.note(scene.tree.child_lost(1, scene.now));
  EXPECT_EQ(scene.story(), "ended");
}

TEST(SupervisionTest, AGroupThatCannotBeRestartedFailsTheTree) {
  Scene scene({.strategy = RestartStrategy::kOneForAll, .kill_margin = 600ms},
              {{}, {.shutdown = 1s}});
  scene.start();
  scene.story();
  scene.exits(0);
  scene.pass(1600ms);
  EXPECT_EQ(scene.story(), "term 1, kill 1, unkillable 1, ending lost");
}

TEST(SupervisionTest, ALostChildFailsTheTreeWithoutARestart) {
  Scene scene({}, {{}, {}});
  scene.start();
  scene.story();
  scene.note(scene.tree.child_lost(1, scene.now));
  EXPECT_EQ(scene.story(), "ending lost, term 0");
}

TEST(SupervisionTest, AnEarlierStopReplacesALaterOne) {
  Scene scene({.kill_margin = 500ms}, {{.shutdown = 1h}});
  scene.start();
  scene.story();
  scene.note(scene.tree.stop(scene.now + 60s, scene.now));
  scene.note(scene.tree.stop(scene.now + 2s, scene.now));
  EXPECT_EQ(scene.story(), "ending requested, term 0");
  scene.pass(1500ms);
  EXPECT_EQ(scene.story(), "kill 0");
}

}  // namespace supervision_stop_test
}  // namespace muster
