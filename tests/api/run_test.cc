#include "tests/api/scene.h"

#include <muster/run.h>

#include <gtest/gtest.h>

#include <signal.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace api_test {

using muster::Child;
using muster::ChildEvent;
using muster::Restart;
using muster::RunEnd;
using muster::Status;
using muster::Supervisor;
using muster::SupervisorOptions;

namespace {

Child command(const std::string& name, const std::string& script) {
  Child child;
  child.name = name;
  child.command = {"sh", "-c", script};
  return child;
}

Child task(const std::string& name, std::function<Status(const Term&, std::stop_token)> run) {
  Child child;
  child.name = name;
  child.task = std::move(run);
  return child;
}

/// What /proc tells of a process under `name`; empty when there is no such process.
std::string told_of(std::int64_t pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;) {
    if (word == name && status >> word) return word;
  }
  return "";
}

/// Nobody may be there to fetch how it ended.
bool is_gone(std::int64_t pid) {
  const std::string state = told_of(pid, "State:");
  return state.empty() || state == "Z" || state == "X";
}

/// One candidate that leads, and what its supervisor tells.
struct PublicRunTest : ::testing::Test {
  Term lead(LeaderOptions options = options_of("w1", 6s)) {
    leadership.emplace(Leadership::stand(arbiter, "n", std::move(options)).value());
    return leadership->wait({}, kSoon).value();
  }
  SupervisorOptions told() {
    SupervisorOptions options;
    options.backoff_min = 1ms;
    options.on_child = [this](const ChildEvent& event) { events.add(event); };
    return options;
  }
  std::optional<ChildEvent> heard(ChildEvent::Kind kind, const std::string& child) {
    return events.wait_for(
        [&](const ChildEvent& event) { return event.kind == kind && event.child == child; });
  }

  /// The term is held by run() alone.
  static std::future<RunEnd> run(const Supervisor& supervisor, Term term) {
    return std::async(
        std::launch::async,
        [](const Supervisor& with, Term during) { return with.run(during).value(); }, supervisor,
        std::move(term));
  }
  /// The election forgets who leads.
  void lose_state() {
    for (const auto& each : std::filesystem::recursive_directory_iterator(dir.path())) {
      if (each.path().filename().string().find("state.json") != std::string::npos) {
        std::filesystem::remove(each.path());
        return;
      }
    }
    ADD_FAILURE() << "no state";
  }

  Heard<ChildEvent> events;
  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  std::optional<Leadership> leadership;
};

}  // namespace

TEST_F(PublicRunTest, CommandsRunDuringTheTermAndAreGoneBeforeTheNextOne) {
  const std::string file = dir.path().string() + "/told";
  Child child = command("web", "echo $MUSTER_EPOCH $MUSTER_NAME $OWN > " + file + ".new; mv " +
                                   file + ".new " + file + "; exec sleep 1000");
  child.environment = {{"OWN", "word"}};
  const auto supervisor = Supervisor::make({child}, told()).value();
  Term term = lead();
  auto running = run(supervisor, term);
  const std::uint64_t token = term.token();
  term = Term();
  const auto started = heard(ChildEvent::Kind::kStarted, "web");
  ASSERT_TRUE(started);
  EXPECT_FALSE(is_gone(started->pid));
  for (int looks = 0; !std::filesystem::exists(file) && looks < 1'000'000; ++looks) {
    std::this_thread::yield();
  }
  std::string told_it;
  std::getline(std::ifstream(file), told_it);
  EXPECT_EQ(told_it, std::to_string(token) + " n word");

  EXPECT_TRUE(leadership->step_down().ok());
  const RunEnd end = running.get();
  EXPECT_EQ(end.cause, RunEnd::Cause::kTermEnded);
  EXPECT_EQ(end.child, "web");
  EXPECT_EQ(end.exit, 128 + SIGTERM);
  EXPECT_TRUE(end.proven);
  EXPECT_TRUE(is_gone(started->pid));
  EXPECT_TRUE(heard(ChildEvent::Kind::kEnded, "web"));
}

// A lease of six seconds gives a clean stop 1.2 of them, unless more is asked for.
TEST_F(PublicRunTest, AStopIsGivenTheTimeThatWasAskedFor) {
  const std::string file = dir.path().string() + "/done";
  Child slow = command("slow", "trap 'sleep 2.5; : > " + file + "; exit 0' TERM; echo up > " +
                                   file + ".up; while :; do sleep 0.01; done");
  slow.grace = 20s;
  const auto supervisor = Supervisor::make({slow}, told()).value();
  LeaderOptions options = options_of("w1", 6s);
  options.stop_time = 20s;
  auto running = run(supervisor, lead(options));
  for (int looks = 0; !std::filesystem::exists(file + ".up") && looks < 1'000'000; ++looks) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(leadership->stop().ok());
  EXPECT_EQ(running.get().exit, 0);
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(PublicRunTest, ATaskIsStartedAgainUntilItHasFailedTooOften) {
  std::atomic<int> ran = 0;
  SupervisorOptions options = told();
  options.restarts_max = 2;
  const auto supervisor = Supervisor::make({task("job",
                                                 [&](const Term& term, std::stop_token) -> Status {
                                                   EXPECT_TRUE(term.valid());
                                                   if (++ran == 2) throw std::runtime_error("two");
                                                   return {Code::kUnavailable, "no luck"};
                                                 })},
                                           options)
                              .value();
  const RunEnd end = supervisor.run(lead()).value();
  EXPECT_EQ(end.cause, RunEnd::Cause::kFailed);
  EXPECT_EQ(end.child, "job");
  EXPECT_FALSE(end.exit);
  EXPECT_NE(end.message.find("no luck"), std::string::npos) << end.message;
  EXPECT_EQ(ran, 3);
}

TEST_F(PublicRunTest, ARunIsOverWhenNothingIsLeftToRun) {
  std::vector<std::string> order;
  Child first = task("first", [&](const Term&, std::stop_token) -> Status {
    order.emplace_back("first");
    return muster::Done{};
  });
  first.setup = true;
  Child second = command("second", "exit 3");
  second.restart = Restart::kNever;
  const auto supervisor = Supervisor::make({first, second}).value();
  const Term term = lead();
  const RunEnd end = supervisor.run(term).value();
  EXPECT_EQ(end.cause, RunEnd::Cause::kFinished);
  EXPECT_EQ(end.child, "second");
  EXPECT_EQ(end.exit, 3);
  EXPECT_EQ(order, std::vector<std::string>{"first"});
  EXPECT_TRUE(term.valid());
  // Once more in the same term, by a copy.
  const Supervisor copy = supervisor;
  EXPECT_EQ(copy.run(term).value().cause, RunEnd::Cause::kFinished);
}

// It is not ended by us: that is for Overrun::kExit.
TEST_F(PublicRunTest, ATaskThatOutlivesItsLeaseIsReportedAndHoldsTheTerm) {
  Heard<Code> troubles;
  LeaderOptions options = options_of("w1", 600ms);
  options.on_trouble = [&](const muster::Error& error) { troubles.add(error.code); };
  std::promise<void> up;
  std::promise<void> let_go;
  const auto supervisor =
      Supervisor::make({task("stuck", [&](const Term&, std::stop_token) -> Status {
        up.set_value();
        let_go.get_future().wait();
        return muster::Done{};
      })}).value();
  auto running = run(supervisor, lead(options));
  up.get_future().get();
  auto stopped = std::async(std::launch::async, [&] { return leadership->stop().ok(); });
  EXPECT_TRUE(troubles.wait_for([](Code code) { return code == Code::kTimeout; }));
  // The lease is over once another leads, and this process is still there.
  Leadership next = Leadership::stand(arbiter, "n", options_of("w2", 600ms)).value();
  EXPECT_TRUE(next.wait({}, kSoon).ok());
  let_go.set_value();
  EXPECT_EQ(running.get().cause, RunEnd::Cause::kTermEnded);
  EXPECT_TRUE(stopped.get());
}

// It may run for as long as the lease is renewed.
TEST_F(PublicRunTest, ACommandOutlivesTheLeaseThatItBeganWith) {
  Child child = command("web", "sleep 4; exit 7");
  child.restart = Restart::kNever;
  const auto supervisor = Supervisor::make({child}).value();
  const RunEnd end = run(supervisor, lead(options_of("w1", 3s))).get();
  EXPECT_EQ(end.cause, RunEnd::Cause::kFinished) << end.message;
  EXPECT_EQ(end.exit, 7);
}

TEST_F(PublicRunTest, ALostLeaseEndsCommandsAtOnce) {
  Child child = command("web", "trap '' TERM; while :; do sleep 0.05; done");
  child.grace = 1h;
  const auto supervisor = Supervisor::make({child}, told()).value();
  const LeaderOptions options = options_of("w1", 10s);
  auto running = run(supervisor, lead(options));
  const auto started = heard(ChildEvent::Kind::kStarted, "web");
  ASSERT_TRUE(started);
  lose_state();
  const RunEnd end = running.get();
  EXPECT_EQ(end.cause, RunEnd::Cause::kTermEnded);
  const auto ended = heard(ChildEvent::Kind::kEnded, "web");
  ASSERT_TRUE(ended);
  EXPECT_NE(ended->message.find("signal 9"), std::string::npos) << ended->message;
  EXPECT_TRUE(is_gone(started->pid));
}

// Nothing proves that a command has ended whose guardian was killed: nobody is told that it has.
TEST_F(PublicRunTest, AnEndThatCannotBeProvenReleasesNoLease) {
  Heard<Code> troubles;
  LeaderOptions options = options_of("w1", 60s);
  options.on_trouble = [&](const muster::Error& error) { troubles.add(error.code); };
  const auto supervisor = Supervisor::make({command("web", "exec sleep 1000")}, told()).value();
  auto running = run(supervisor, lead(options));
  const auto started = heard(ChildEvent::Kind::kStarted, "web");
  ASSERT_TRUE(started);
  const pid_t guardian = std::stoi(told_of(started->pid, "PPid:"));
  ASSERT_GT(guardian, 1);
  ::kill(guardian, SIGKILL);
  const RunEnd end = running.get();
  EXPECT_EQ(end.cause, RunEnd::Cause::kFailed);
  EXPECT_FALSE(end.proven);
  EXPECT_TRUE(is_gone(started->pid));
  EXPECT_TRUE(leadership->stop().ok());
  EXPECT_TRUE(troubles.wait_for([](Code code) { return code == Code::kTimeout; }));
  Leadership next = Leadership::stand(arbiter, "n", options_of("w2", 60s)).value();
  EXPECT_TRUE(next.wait({}, 1s).is(Code::kTimeout));
}

TEST_F(PublicRunTest, WhatCannotRunIsSaidAtTheStart) {
  const auto refused = [](const std::function<void(Child&)>& spoil) {
    Child bad = command("web", "exit 0");
    spoil(bad);
    return Supervisor::make({bad}).code();
  };
  EXPECT_EQ(refused([](Child& bad) { bad.name = "a b"; }), Code::kInvalid);
  EXPECT_EQ(refused([](Child& bad) { bad.command.clear(); }), Code::kInvalid);
  EXPECT_EQ(refused([](Child& bad) { bad.task = [](auto&, auto) { return muster::Done{}; }; }),
            Code::kInvalid);
  EXPECT_EQ(refused([](Child& bad) { bad.grace = -1s; }), Code::kInvalid);
  EXPECT_EQ(refused([](Child& bad) { bad.ready_after = muster::Duration::max(); }), Code::kInvalid);
  EXPECT_EQ(refused([](Child& bad) { bad.environment = {{"A=B", ""}}; }), Code::kInvalid);
  EXPECT_EQ(refused([](Child& bad) { bad.command = {"no-such-command-anywhere"}; }),
            Code::kNotFound);
  EXPECT_EQ(refused([](Child& bad) { bad.directory = "/no/such/directory"; }), Code::kNotFound);
  EXPECT_TRUE(Supervisor::make({}).is(Code::kInvalid));
  const Child twice = command("web", "exit 0");
  EXPECT_TRUE(Supervisor::make({twice, twice}).is(Code::kInvalid));
  EXPECT_TRUE(Supervisor::make({twice}, {.backoff_min = -1s}).is(Code::kInvalid));
  const auto unguarded = Supervisor::make({twice}, {.guardian = "/no/such/guardian"});
  // Where the package is installed, its guardian serves.
  if (!std::filesystem::exists("/usr/libexec/muster/muster-guardian")) {
    ASSERT_TRUE(unguarded.is(Code::kUnsupported));
    EXPECT_NE(unguarded.message().find("muster-guardian"), std::string::npos);
  }
  // A task needs none.
  EXPECT_TRUE(Supervisor::make({task("a", [](auto&, auto) { return muster::Done{}; })},
                               {.guardian = "/no/such/guardian"})
                  .ok());
  EXPECT_TRUE(Leadership::stand(arbiter, "n", {.stop_time = -1s}).is(Code::kInvalid));
}

TEST_F(PublicRunTest, OfATermThatIsOverNothingIsStarted) {
  const auto supervisor = Supervisor::make({command("web", "exit 0")}).value();
  EXPECT_TRUE(supervisor.run(Term()).is(Code::kConflict));
  const Term term = lead();
  EXPECT_TRUE(leadership->step_down().ok());
  EXPECT_TRUE(wait_for(term.stopping()));
  EXPECT_TRUE(supervisor.run(term).is(Code::kConflict));
}

}  // namespace api_test
