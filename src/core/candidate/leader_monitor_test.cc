#include "core/candidate/leader_monitor.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace leader_monitor_test {

constexpr MonoTime kStart{1000s};

LeaderState led_by(const char* worker, std::uint64_t epoch, const char* incarnation = "first") {
  LeaderState state;
  state.leader = WorkerId(worker);
  state.incarnation = Incarnation(std::string(worker) + "-" + incarnation);
  state.epoch = Epoch(epoch);
  return state;
}

LeaderState released_by(const char* worker, std::uint64_t epoch) {
  LeaderState state;
  state.epoch = Epoch(epoch);
  state.released =
      ReleaseReceipt{WorkerId(worker), Incarnation(std::string(worker) + "-first"), Epoch(epoch)};
  return state;
}

class LeaderMonitorTest : public ::testing::Test {
 protected:
  /// What happened, as one line a test can compare.
  static std::string told(const std::vector<MonitorEvent>& events) {
    std::string line;
    for (const MonitorEvent& event : events) {
      if (!line.empty()) line += ", ";
      if (const auto* up = std::get_if<LeaderUp>(&event)) {
        line += "up " + up->leader.worker.value() + "/" + std::to_string(up->leader.epoch.value());
      } else if (const auto* alive = std::get_if<LeaderAlive>(&event)) {
        line += "alive " + alive->leader.worker.value() + "/" +
                std::to_string(alive->leader.epoch.value());
      } else {
        const auto& down = std::get<LeaderWentDown>(event);
        line += "down " + down.former.worker.value() + "/" +
                std::to_string(down.former.epoch.value()) + " " + to_string(down.cause);
      }
    }
    return line;
  }
  std::string sees(const LeaderState& state, MonoTime now) {
    return told(monitor.observed(state, false, now + 6s, now));
  }

  LeaderMonitor monitor{Incarnation("me-first")};
};

TEST_F(LeaderMonitorTest, ANamespaceThatNobodyEverLedIsFree) {
  EXPECT_EQ(monitor.view(), LeaderView::kUnknown);
  EXPECT_EQ(told(monitor.observed({}, false, MonoTime::min(), kStart)), "");
  EXPECT_EQ(monitor.view(), LeaderView::kFree);
}

TEST_F(LeaderMonitorTest, AStateThatWasLostIsNoFreePlace) {
  sees(led_by("a", 3), kStart);
  EXPECT_EQ(told(monitor.observed({}, true, MonoTime::min(), kStart)), "down a/3 expired");
  EXPECT_EQ(monitor.view(), LeaderView::kLapsed);
}

TEST_F(LeaderMonitorTest, AReleaseFreesThePlaceAtOnce) {
  EXPECT_EQ(sees(led_by("a", 3), kStart), "up a/3");
  EXPECT_EQ(sees(released_by("a", 3), kStart + 1s), "down a/3 released");
  EXPECT_EQ(monitor.view(), LeaderView::kFree);
  EXPECT_EQ(monitor.wake_at(), MonoTime::max());
}

TEST_F(LeaderMonitorTest, ARenewalPutsTheEndOfTheLeaseOff) {
  sees(led_by("a", 3), kStart);
  EXPECT_EQ(sees(led_by("a", 3), kStart + 2s), "");
  EXPECT_EQ(monitor.wake_at(), kStart + 8s);
  EXPECT_EQ(told(monitor.tick(kStart + 7s)), "");
  EXPECT_EQ(told(monitor.tick(kStart + 8s)), "down a/3 expired");
  EXPECT_EQ(monitor.view(), LeaderView::kLapsed);
}

TEST_F(LeaderMonitorTest, ALeaderIsAliveOnceItWritesAnew) {
  LeaderState state = led_by("a", 3);
  state.nonce = Nonce("1");
  EXPECT_EQ(sees(state, kStart), "up a/3") << "it may have died an hour ago";
  EXPECT_EQ(sees(state, kStart + 1s), "");
  state.nonce = Nonce("2");
  EXPECT_EQ(sees(state, kStart + 2s), "alive a/3");
  state.nonce = Nonce("3");
  EXPECT_EQ(sees(state, kStart + 3s), "") << "once is enough";
  state.epoch = Epoch(4);
  state.nonce = Nonce("4");
  EXPECT_EQ(sees(state, kStart + 4s), "down a/3 replaced, up a/4");
  state.written_at += 1ms;
  EXPECT_EQ(sees(state, kStart + 5s), "alive a/4") << "a worker that knows no nonces";
}

// C11: what is watched is a leadership, not a name: each new one is a new target.
TEST_F(LeaderMonitorTest, ItRetargetsWheneverIncarnationOrEpochChange) {
  sees(led_by("a", 3), kStart);
  EXPECT_EQ(sees(led_by("a", 4), kStart + 1s), "down a/3 replaced, up a/4");
  EXPECT_EQ(sees(led_by("a", 4, "second"), kStart + 2s), "down a/4 replaced, up a/4");
  EXPECT_EQ(sees(led_by("b", 5), kStart + 3s), "down a/4 replaced, up b/5");
  EXPECT_EQ(monitor.leader()->worker, WorkerId("b"));
  EXPECT_EQ(monitor.wake_at(), kStart + 9s);
}

TEST_F(LeaderMonitorTest, AReleaseOfALaterTermMeansThatTheWatchedOneWasReplaced) {
  sees(led_by("a", 3), kStart);
  EXPECT_EQ(sees(released_by("b", 4), kStart + 1s), "down a/3 replaced");
  EXPECT_EQ(monitor.view(), LeaderView::kFree);
}

TEST_F(LeaderMonitorTest, WithoutAnAnswerALeaderIsUnreachableNotExpired) {
  sees(led_by("a", 3), kStart);
  EXPECT_EQ(told(monitor.unanswered(kStart + 4s)), "");
  EXPECT_EQ(told(monitor.tick(kStart + 6s)), "down a/3 unreachable");
  EXPECT_EQ(monitor.view(), LeaderView::kUnreachable);
  EXPECT_EQ(sees(led_by("a", 3), kStart + 60s), "up a/3") << "it was well all the time";
}

TEST_F(LeaderMonitorTest, AStoreThatAnswersAgainWithTheOldStateShowsALapse) {
  sees(led_by("a", 3), kStart);
  monitor.unanswered(kStart + 7s);
  EXPECT_EQ(told(monitor.observed(led_by("a", 3), false, kStart + 6s, kStart + 60s)), "");
  EXPECT_EQ(monitor.view(), LeaderView::kLapsed);
}

TEST_F(LeaderMonitorTest, TheOwnLeadershipIsNotWatched) {
  sees(led_by("a", 3), kStart);
  EXPECT_EQ(sees(led_by("me", 4), kStart + 1s), "down a/3 replaced");
  EXPECT_EQ(monitor.leader(), std::nullopt);
  EXPECT_EQ(sees(led_by("me", 4, "earlier"), kStart + 1s), "up me/4")
      << "an earlier process with this name is someone else";
}

}  // namespace leader_monitor_test
}  // namespace muster
