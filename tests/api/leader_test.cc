#include "tests/api/scene.h"

#include <csignal>
#include <future>
#include <memory>
#include <stdexcept>

namespace api_test {
/// Every arbiter that a program may have.
class LeaderTest : public ::testing::TestWithParam<const char*> {
 protected:
  LeaderTest() {
    if (GetParam() == std::string("etcd")) etcd_ = std::make_unique<EtcdCluster>();
    url_ = etcd_ ? etcd_->url("app") : url_of(dir_);
  }
  Arbiter open() const { return Arbiter::open(url_).value(); }

  TempDir dir_;
  std::unique_ptr<EtcdCluster> etcd_;
  std::string url_;
};
INSTANTIATE_TEST_SUITE_P(Arbiters, LeaderTest, ::testing::Values("file", "etcd"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(LeaderTest, WorksWhileItLeadsAndReleasesWhenItIsStopped) {
  const Arbiter arbiter = open();
  std::stop_source stop;
  std::promise<Term> began;
  auto led = std::async(std::launch::async, [&] {
    return muster::lead(
        arbiter, "report", stop.get_token(),
        [&](const Term& term) {
          began.set_value(term);
          wait_for(term.stopping());
          EXPECT_FALSE(term.valid());
        },
        options_of("one", 60s));
  });
  Term term = began.get_future().get();
  EXPECT_TRUE(term.valid());
  EXPECT_GT(term.left(), 30s);
  EXPECT_FALSE(term.stopping().stop_requested());
  const muster::Token first = term.token();
  term = Term();
  stop.request_stop();
  EXPECT_TRUE(led.get().ok());

  // Nobody waits for a lease that was released.
  Leadership next = Leadership::stand(arbiter, "report", options_of("two")).value();
  const auto later = next.wait({}, kSoon);
  ASSERT_TRUE(later.ok()) << later.message();
  EXPECT_GT(later->token(), first);
}

TEST_P(LeaderTest, OneLeadsAndTheOtherFollows) {
  const Arbiter arbiter = open();
  LeaderOptions first = options_of("first");
  first.value = "10.0.0.7:9000";
  Leadership one = Leadership::stand(arbiter, "n", first).value();
  Term term = one.wait({}, kSoon).value();
  Leadership two = Leadership::stand(open(), "n", options_of("second")).value();
  const auto none = two.wait({}, 1s);
  EXPECT_TRUE(none.is(Code::kTimeout));
  const auto seen = two.leader();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->id, "first");
  EXPECT_EQ(seen->value, "10.0.0.7:9000");
  EXPECT_EQ(seen->token, term.token());
  EXPECT_EQ(one.leader()->value, "10.0.0.7:9000");
  EXPECT_TRUE(two.step_down().is(Code::kConflict));

  ASSERT_TRUE(one.step_down("second").ok());
  EXPECT_TRUE(wait_for(term.stopping()));
  EXPECT_FALSE(term.valid());
  const muster::Token before = term.token();
  term = Term();
  const Term next = two.wait({}, kSoon).value();
  EXPECT_EQ(next.token(), before + 1);
  EXPECT_FALSE(one.term().valid());
}

TEST_P(LeaderTest, AnotherProcessTakesOverFromOneThatWasKilled) {
  muster::ChildProcess child({MUSTER_API_WORKER, url_, "n", "child", "2000", "work"});
  const std::string line = child.read_line();
  ASSERT_TRUE(line.starts_with("leading ")) << line;
  Leadership here = Leadership::stand(open(), "n", options_of("here")).value();
  EXPECT_TRUE(here.wait({}, 500ms).is(Code::kTimeout));
  child.kill();
  const auto term = here.wait({}, kSoon);
  ASSERT_TRUE(term.ok()) << term.message();
  EXPECT_GT(term->token(), std::stoull(line.substr(8)));
}

TEST_P(LeaderTest, ANameThatWasStoppedMayBeStoodForAgain) {
  const Arbiter arbiter = open();
  muster::Token last = 0;
  for (int round = 0; round < 10; ++round) {
    Leadership leadership = Leadership::stand(arbiter, "again", options_of("me")).value();
    {
      const auto term = leadership.wait({}, kSoon);
      ASSERT_TRUE(term.ok()) << "round " << round << ": " << term.message();
      EXPECT_GT(term->token(), last);
      last = term->token();
    }
    if (round % 2 == 0) {
      EXPECT_TRUE(leadership.stop().ok());
    }
  }
}

TEST(PublicLeaderTest, TheLeaseIsKeptWhileATermIsHeld) {
  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  LeaderOptions options = options_of("holds", 3s);
  Heard<Code> troubles;
  options.on_trouble = [&](const muster::Error& error) { troubles.add(error.code); };
  Leadership one = Leadership::stand(arbiter, "n", options).value();
  const Term held = one.wait({}, kSoon).value();
  Leadership two = Leadership::stand(arbiter, "n", options_of("waits", 3s)).value();
  EXPECT_TRUE(one.stop().ok());
  EXPECT_FALSE(held.valid());
  // The work was not known to have ended, so the lease runs out, and the takeover delay with it.
  EXPECT_TRUE(two.wait({}, 1s).is(Code::kTimeout));
  EXPECT_TRUE(two.wait({}, kSoon).ok());
  EXPECT_TRUE(troubles.wait_for([](Code code) { return code == Code::kTimeout; }));
}

TEST(PublicLeaderTest, WorkThatReturnsDuringItsTermIsFinished) {
  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  int calls = 0;
  const auto led = muster::lead(
      arbiter, "once", {}, [&](const Term& term) { calls += term.valid() ? 1 : 100; },
      options_of("me", 60s));
  EXPECT_TRUE(led.ok()) << led.message();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(Leadership::stand(arbiter, "once", options_of("next")).value().wait({}, 5s).ok());
}

TEST(PublicLeaderTest, WhatWorkThrowsComesOutAfterTheRelease) {
  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  EXPECT_THROW((void)muster::lead(
                   arbiter, "n", {}, [](const Term&) { throw std::out_of_range("work"); },
                   options_of("me", 60s)),
               std::out_of_range);
  EXPECT_TRUE(Leadership::stand(arbiter, "n", options_of("next")).value().wait({}, 5s).ok());
}

TEST(PublicLeaderTest, AWaitEndsWhenItIsToldTo) {
  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  const Leadership leads = Leadership::stand(arbiter, "n", options_of("leads")).value();
  Leadership waits = Leadership::stand(arbiter, "n", options_of("waits")).value();
  std::stop_source stop;
  auto waited = std::async(std::launch::async, [&] { return waits.wait(stop.get_token()); });
  stop.request_stop();
  EXPECT_TRUE(waited.get().is(Code::kCancelled));
  waited = std::async(std::launch::async, [&] { return waits.wait(); });
  EXPECT_TRUE(waits.stop().ok());
  EXPECT_TRUE(waited.get().is(Code::kCancelled));
  EXPECT_TRUE(waits.wait().is(Code::kCancelled));
}

std::stop_source g_stop;

TEST(PublicLeaderTest, ASignalHandlerMayAskToStop) {
  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  const auto before = std::signal(SIGUSR1, [](int) { g_stop.request_stop(); });
  const auto led = muster::lead(
      arbiter, "n", g_stop.get_token(),
      [&](const Term& term) {
        std::raise(SIGUSR1);
        EXPECT_TRUE(wait_for(term.stopping()));
      },
      options_of("me"));
  std::signal(SIGUSR1, before);
  EXPECT_TRUE(led.ok());
}

TEST(PublicLeaderTest, IdsOfOneProcessDiffer) {
  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  const Leadership one = Leadership::stand(arbiter, "n").value();
  const Leadership two = Leadership::stand(Arbiter::open(url_of(dir)).value(), "n").value();
  EXPECT_NE(one.id(), two.id());
  EXPECT_TRUE(Leadership::stand(arbiter, "n", options_of(one.id())).is(Code::kInvalid));
  EXPECT_TRUE(Leadership::stand(arbiter, "other", options_of(one.id())).ok());
}

TEST(PublicLeaderTest, AnIdIsFreeOnceItsHolderHasStoppedThoughTheObjectLives) {
  const Arbiter arbiter = Arbiter::open("memory:").value();
  Leadership one = Leadership::stand(arbiter, "n", options_of("me")).value();
  ASSERT_TRUE(one.stop().ok());
  Leadership again = Leadership::stand(arbiter, "n", options_of("me")).value();
  one = Leadership::stand(arbiter, "n").value();
  EXPECT_TRUE(Leadership::stand(arbiter, "n", options_of("me")).is(Code::kInvalid));
}

TEST(PublicLeaderTest, RefusesWhatCannotWork) {
  EXPECT_TRUE(Arbiter::open("gopher://x").is(Code::kInvalid));
  EXPECT_TRUE(Arbiter::open("file:///tmp/x?sync=perhaps").is(Code::kInvalid));
  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  EXPECT_TRUE(arbiter.probe().ok());
  EXPECT_NE(arbiter.describe().find(dir.path().string()), std::string::npos);
  EXPECT_TRUE(Leadership::stand(arbiter, "a name with spaces").is(Code::kInvalid));
  EXPECT_TRUE(Leadership::stand(arbiter, "n", options_of("me", 99ms)).is(Code::kInvalid));
  LeaderOptions large = options_of("me");
  large.value = std::string(1025, 'x');
  EXPECT_TRUE(Leadership::stand(arbiter, "n", large).is(Code::kInvalid));
  large.value = "\xff";
  EXPECT_TRUE(Leadership::stand(arbiter, "n", large).is(Code::kInvalid));
  large.value = std::string(1024, 'x');
  EXPECT_TRUE(Leadership::stand(arbiter, "n", large).ok());
}

TEST(PublicLeaderTest, WhoDoesNotCampaignSeesWhoLeads) {
  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  LeaderOptions watching = options_of("watches");
  watching.campaigns = false;
  Heard<std::optional<Leader>> leaders;
  watching.on_change = [&](const std::optional<Leader>& leader) { leaders.add(leader); };
  Leadership watches = Leadership::stand(arbiter, "n", watching).value();
  EXPECT_TRUE(watches.wait({}, 1s).is(Code::kTimeout));
  const Leadership leads = Leadership::stand(arbiter, "n", options_of("leads")).value();
  const auto led = [](const auto& leader) { return leader && leader->id == "leads"; };
  EXPECT_TRUE(leaders.wait_for(led));
}

// The deadline of a lease that cannot be renewed: work is asked to stop while the term still holds.
TEST(PublicLeaderTest, WorkIsAskedToStopBeforeALeaseEndsThatIsNotRenewed) {
  EtcdCluster etcd;
  const Arbiter arbiter = Arbiter::open(etcd.url("app")).value();
  LeaderOptions options = options_of("me", 5s);
  Heard<Code> troubles;
  options.on_trouble = [&](const muster::Error& error) { troubles.add(error.code); };
  Leadership leadership = Leadership::stand(arbiter, "n", options).value();
  const Term term = leadership.wait({}, kSoon).value();
  etcd.stop(0);
  ASSERT_TRUE(wait_for(term.stopping()));
  EXPECT_TRUE(term.valid());
  EXPECT_GT(term.left(), 0s);
  EXPECT_LT(term.left(), 2s);
  EXPECT_FALSE(leadership.term().valid());
  EXPECT_TRUE(troubles.wait_for([](Code code) { return code == Code::kTimeout; }));
  EXPECT_FALSE(term.valid());
  EXPECT_EQ(term.left(), 0s);
  EXPECT_TRUE(troubles.wait_for([](Code code) { return code == Code::kUnavailable; }));
  etcd.cont(0);
}

TEST(PublicLeaderTest, WorkThatOutlivesItsLeaseEndsTheProcessIfThatWasChosen) {
  const TempDir dir;
  muster::ChildProcess child({MUSTER_API_WORKER, url_of(dir), "n", "child", "2000", "overrun"});
  EXPECT_EQ(child.read_line(), "leading 1");
  EXPECT_EQ(child.finish(), 71);
}

TEST(PublicLeaderTest, AProcessThatIsToldToStopReleasesTheLease) {
  const TempDir dir;
  muster::ChildProcess child({MUSTER_API_WORKER, url_of(dir), "n", "child", "60000", "work"});
  EXPECT_EQ(child.read_line(), "leading 1");
  EXPECT_EQ(child.finish(), 0);
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  EXPECT_TRUE(Leadership::stand(arbiter, "n").value().wait({}, 5s).ok());
}

TEST(PublicLeaderTest, LogLinesGoToTheSinkOfTheProgram) {
  const TempDir dir;
  Heard<muster::LogLine> lines;
  muster::set_log_sink([&](const muster::LogLine& line) { lines.add(line); });
  {
    const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
    Leadership leadership = Leadership::stand(arbiter, "logged").value();
    EXPECT_TRUE(leadership.wait({}, kSoon).ok());
  }
  muster::set_log_sink({});
  EXPECT_TRUE(lines.wait_for([](const muster::LogLine& line) {
    for (const auto& [name, value] : line.fields) {
      if (value == "logged") return line.level == muster::LogLevel::kInfo;
    }
    return false;
  }));
}

}  // namespace api_test
