#include "core/supervision/supervision.h"

#include <gtest/gtest.h>

#include "core/supervision/supervision_test_scene.h"

namespace muster {
namespace supervision_test {

using Scene = testing::SupervisionScene;

ChildRules with(RestartPolicy policy) {
  return {.restart = policy};
}
const ChildRules kPermanent = with(RestartPolicy::kPermanent);
const ChildRules kTransient = with(RestartPolicy::kTransient);
const ChildRules kTemporary = with(RestartPolicy::kTemporary);

TEST(SupervisionTest, ChildrenStartInOrderEachAfterTheOneBeforeIsReady) {
  ChildRules says_so;
  says_so.ready_after.reset();
  ChildRules settles;
  settles.ready_after = 300ms;
  Scene scene({}, {says_so, settles, {}});
  scene.start();
  EXPECT_EQ(scene.story(), "start 0");
  scene.pass(1s);
  EXPECT_EQ(scene.story(), "");
  scene.note(scene.tree.child_ready(0, scene.now));
  EXPECT_EQ(scene.story(), "start 1");
  scene.pass(300ms - 1ns);
  EXPECT_EQ(scene.story(), "");
  scene.pass(1ns);
  EXPECT_EQ(scene.story(), "start 2, ready");
}

TEST(SupervisionTest, ASetupChildRunsToItsEndBeforeTheOthersStartAndOnlyOnce) {
  Scene scene({.strategy = RestartStrategy::kOneForAll}, {{.setup = true}, {}});
  scene.start();
  scene.pass(1s);
  EXPECT_EQ(scene.story(), "start 0");
  scene.exits(0, true);
  EXPECT_EQ(scene.story(), "start 1, ready");
  scene.exits(1);
  scene.pass(1s);
  EXPECT_EQ(scene.story(), "start 1");
}

TEST(SupervisionTest, ASetupChildThatFailsOrTakesTooLongFailsTheTree) {
  Scene fails({}, {{.setup = true}, {}});
  fails.start();
  fails.exits(0);
  EXPECT_EQ(fails.story(), "start 0, ending start-failed, ended");
  Scene dawdles({}, {{.setup = true, .timeout = 3s}, {}});
  dawdles.start();
  dawdles.pass(3s);
  EXPECT_EQ(dawdles.story(), "start 0, ending start-failed, term 0");
}

TEST(SupervisionTest, ASetupChildMayTakeAsLongAsItNeedsUnlessItHasALimit) {
  Scene scene({.start_timeout = 3s}, {{.setup = true}, {}});
  scene.start();
  scene.pass(1h);
  scene.exits(0, true);
  EXPECT_EQ(scene.story(), "start 0, start 1, ready");
  Scene silent({.start_timeout = 3s}, {{.setup = true}, {}});
  silent.start_by_themselves = false;
  silent.start();
  silent.pass(3s);
  EXPECT_EQ(silent.story(), "start 0, ending start-failed, term 0") << "it does not even run";
}

TEST(SupervisionTest, ChildrenStopInReverseOrderEachAfterTheOneBeforeIsGone) {
  Scene scene({}, {{}, {}, {}});
  scene.start();
  EXPECT_EQ(scene.story(), "start 0, start 1, start 2, ready");
  scene.note(scene.tree.stop(Scene::kFar, scene.now));
  EXPECT_EQ(scene.story(), "ending requested, term 2");
  scene.exits(2);
  EXPECT_EQ(scene.story(), "term 1");
  scene.exits(1, true);
  scene.exits(0);
  EXPECT_EQ(scene.story(), "term 0, ended");
  EXPECT_TRUE(scene.tree.ended());
  EXPECT_FALSE(scene.tree.next_tick());
}

TEST(SupervisionTest, AChildThatIgnoresTermIsKilledAfterItsGraceAndABrutalOneAtOnce) {
  ChildRules brutal;
  brutal.shutdown.reset();
  Scene scene({}, {{.shutdown = 2s}, brutal});
  scene.start();
  scene.story();
  scene.note(scene.tree.stop(Scene::kFar, scene.now));
  EXPECT_EQ(scene.story(), "ending requested, kill 1");
  scene.exits(1);
  EXPECT_EQ(scene.story(), "term 0");
  scene.pass(2s - 1ns);
  EXPECT_EQ(scene.story(), "");
  scene.pass(1ns);
  EXPECT_EQ(scene.story(), "kill 0");
  scene.exits(0);
  EXPECT_EQ(scene.story(), "ended");
}

struct RestartCase {
  const char* name;
  RestartStrategy strategy;
  std::vector<ChildRules> rules;
  std::size_t fails;
  bool success;
  std::string expected;  ///< Siblings end as soon as they are asked to.
};

class SupervisionRestartTest : public ::testing::TestWithParam<RestartCase> {};

TEST_P(SupervisionRestartTest, RestartsWhomItsStrategyAndPoliciesName) {
  const RestartCase& each = GetParam();
  Scene scene({.strategy = each.strategy}, each.rules);
  scene.start();
  scene.story();
  SupervisionActions actions = scene.tree.child_exited(each.fails, each.success, scene.now);
  while (!actions.empty()) {
    SupervisionActions more;
    for (const auto& action : actions) {
      if (action.kind != SupervisionAction::Kind::kTerminate) continue;
      for (const auto& next : scene.tree.child_exited(action.child, false, scene.now)) {
        more.push_back(next);
      }
    }
    scene.note(actions);
    actions = std::move(more);
  }
  scene.pass(1s);
  EXPECT_EQ(scene.story(), each.expected);
}

const auto kOne = RestartStrategy::kOneForOne;
const auto kAll = RestartStrategy::kOneForAll;
const auto kRest = RestartStrategy::kRestForOne;

INSTANTIATE_TEST_SUITE_P(
    Table, SupervisionRestartTest,
    ::testing::Values(
        RestartCase{"OneForOne", kOne, {{}, {}, {}}, 1, false, "start 1"},
        RestartCase{"OneForOnePermanentSuccess", kOne, {{}, {}, {}}, 1, true, "start 1"},
        RestartCase{"TransientFailure", kOne, {kTransient, {}}, 0, false, "start 0"},
        RestartCase{"TransientSuccess", kOne, {kTransient, {}}, 0, true, ""},
        RestartCase{"TemporaryFailure", kOne, {kTemporary, {}}, 0, false, ""},
        RestartCase{"TemporarySuccess", kAll, {kTemporary, {}}, 0, true, ""},
        RestartCase{
            "OneForAll", kAll, {{}, {}, {}}, 1, false, "term 2, term 0, start 0, start 1, start 2"},
        RestartCase{"OneForAllTransientSuccess", kAll, {{}, kTransient, {}}, 1, true, ""},
        RestartCase{"OneForAllEndsATemporarySibling",
                    kAll,
                    {kTemporary, {}, {}},
                    1,
                    false,
                    "term 2, term 0, start 1, start 2"},
        RestartCase{"RestForOne", kRest, {{}, {}, {}}, 1, false, "term 2, start 1, start 2"},
        RestartCase{"RestForOneLast", kRest, {{}, {}, {}}, 2, false, "start 2"},
        RestartCase{"LastOneFinishes", kOne, {kTransient}, 0, true, "ending finished, ended"},
        RestartCase{"LastOneFails", kOne, {kTemporary}, 0, false, "ending finished, ended"}),
    [](const auto& param) { return std::string(param.param.name); });

// C16: exhausted restarts end the tree and say so.
TEST(SupervisionTest, ASetupChildThatASiblingInterruptsRunsAgainBeforeThoseAfterIt) {
  for (const auto strategy : {RestartStrategy::kOneForAll, RestartStrategy::kRestForOne}) {
    Scene scene({.strategy = strategy}, {{}, {.setup = true}, {}});
    scene.start();
    EXPECT_EQ(scene.story(), "start 0, start 1");
    scene.exits(0);
    EXPECT_EQ(scene.story(), "term 1");
    scene.exits(1);
    scene.pass(1s);
    EXPECT_EQ(scene.story(), "start 0, start 1");
    scene.exits(1, true);
    EXPECT_EQ(scene.story(), "start 2, ready");
  }
}

TEST(SupervisionTest, ATemporaryChildThatHasNotHadItsTurnStillGetsItAfterASiblingsRestart) {
  for (const auto strategy : {RestartStrategy::kOneForAll, RestartStrategy::kRestForOne}) {
    ChildRules settles;
    settles.ready_after = 300ms;
    Scene scene({.strategy = strategy}, {settles, kTemporary});
    scene.start();
    scene.exits(0);
    scene.pass(1s);
    EXPECT_EQ(scene.story(), "start 0, start 0, start 1, ready");
    // It has had its turn now.
    scene.exits(0);
    scene.exits(1);
    scene.pass(1s);
    EXPECT_EQ(scene.story(), "term 1, start 0");
  }
}

TEST(SupervisionTest, MoreThanThreeRestartsInFiveSecondsFailTheTree) {
  Scene scene({.backoff_min = 0s}, {{}, {}});
  scene.start();
  scene.story();
  for (int n = 0; n < 3; ++n) {
    scene.exits(1);
    EXPECT_EQ(scene.story(), "start 1");
    scene.pass(1s);
  }
  scene.exits(1);
  EXPECT_EQ(scene.story(), "ending restarts-exhausted, term 0");
  scene.exits(0);
  EXPECT_EQ(scene.story(), "ended");
}

TEST(SupervisionTest, ThreeRestartsInFiveSecondsAreBearable) {
  Scene scene({.backoff_min = 0s}, {{}});
  scene.start();
  scene.story();
  for (int n = 0; n < 30; ++n) {
    scene.exits(0);
    ASSERT_EQ(scene.story(), "start 0") << n;
    scene.pass(Duration(5s) / 3 + 1ns);
  }
}

TEST(SupervisionTest, BackoffDoublesToItsLimitAndStartsAgainAfterStability) {
  Scene scene({.restarts_max = 100, .backoff_min = 1s, .backoff_max = 5s, .stable_after = 30s},
              {{}});
  scene.start();
  scene.story();
  for (const Duration wait : {1s, 2s, 4s, 5s, 5s}) {
    scene.exits(0);
    scene.pass(wait - 1ns);
    EXPECT_EQ(scene.story(), "");
    scene.pass(1ns);
    EXPECT_EQ(scene.story(), "start 0");
  }
  scene.pass(30s);
  scene.exits(0);
  scene.pass(1s);
  EXPECT_EQ(scene.story(), "start 0");
}

// C08: a child that cannot be started leaves no leader without work.
TEST(SupervisionTest, AChildThatCannotBeStartedFailsTheTree) {
  Scene scene({}, {{}, {}});
  scene.start_by_themselves = false;
  scene.start();
  scene.note(scene.tree.child_started(0, scene.now));
  EXPECT_EQ(scene.story(), "start 0, start 1");
  scene.note(scene.tree.child_failed_to_start(1, scene.now));
  EXPECT_EQ(scene.story(), "ending start-failed, term 0");
}

TEST(SupervisionTest, AChildThatCannotBeStartedBecauseTheLeaseEndsHasNotFailed) {
  Scene scene({}, {{.ready_after = 1h}});
  scene.start(Scene::kBegin + 6s);
  scene.note(scene.tree.child_failed_to_start(0, scene.now + 5400ms));
  EXPECT_EQ(scene.story(), "start 0, ending deadline, ended");
}

// C08: nor does one that never gets ready.
TEST(SupervisionTest, AChildThatIsNotReadyInTimeFailsTheTree) {
  ChildRules says_so;
  says_so.ready_after.reset();
  Scene scene({.start_timeout = 3s}, {says_so});
  scene.start();
  scene.pass(3s - 1ns);
  EXPECT_EQ(scene.story(), "start 0");
  scene.pass(1ns);
  EXPECT_EQ(scene.story(), "ending start-failed, term 0");
}

}  // namespace supervision_test
}  // namespace muster
