#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "tests/cli/http_get.h"
#include "tests/cli/muster_program.h"
#include "tests/cli/operators.h"

namespace muster {
namespace election_test {

using nlohmann::json;

/// Workers on one directory.
class MusterElectionTest : public ::testing::Test {
 protected:
  Outcome ask(const std::string& command, const Words& more = {}) const {
    Words words{command, "--arbiter", store_, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_muster(words);
  }

  TempDir dir_;
  std::string store_ = "file://" + (dir_.path() / "store").string();
};

std::vector<std::string> names(const json& object) {
  std::vector<std::string> result;
  for (const auto& [name, value] : object.items()) result.push_back(name);
  return result;  // Sorted.
}

TEST_F(MusterElectionTest, AWorkerElectsItselfAndOthersSeeIt) {
  Worker worker(store_, "w1");
  json changed = worker.next();
  EXPECT_TRUE(changed["time"].is_number_integer());
  changed.erase("time");
  EXPECT_EQ(changed, json::parse(R"({"event":"leader:changed","namespace":"default",
                                     "previousLeader":null,"newLeader":"w1","epoch":1})"));
  json began = worker.next();
  began.erase("time");
  EXPECT_EQ(began, json::parse(R"({"event":"term:began","namespace":"default","epoch":1})"));

  const Outcome leader = ask("leader");
  EXPECT_EQ(leader.code, 0);
  EXPECT_EQ(names(leader.json()),
            (Words{"ageMs", "confirmed", "epoch", "leader", "leaseLeftMs", "name"}));
  EXPECT_EQ(leader.json()["leader"], "w1");
  EXPECT_EQ(leader.json()["epoch"], 1);
  EXPECT_EQ(leader.json()["confirmed"], true);
  EXPECT_EQ(leader.json()["leaseLeftMs"].get<int>() + leader.json()["ageMs"].get<int>(), 1000);
  EXPECT_EQ(ask("leader", {"--namespace", "other"}).code, 1);
  EXPECT_EQ(ask("leader", {"--confirm"}).json()["leader"], "w1");
}

TEST_F(MusterElectionTest, WorkersAreListedWithTheirStates) {
  Worker first(store_, "w1");
  ASSERT_FALSE(first.next("term:began").is_null());
  Worker second(store_, "w2");
  const json updated = first.next("workers:updated");
  EXPECT_EQ(updated["workers"], (Words{"w1", "w2"}));
  // The list is published with the leader's next renewal.
  json fleet = ask("workers").json();
  for (const MonoTime limit = boot_now() + 30s; boot_now() < limit;) {
    if (fleet["workers"].back()["state"] == "live") break;
    fleet = ask("workers").json();
  }
  EXPECT_EQ(names(fleet), (Words{"epoch", "leader", "namespace", "workers"}));
  ASSERT_EQ(fleet["workers"].size(), 2u);
  EXPECT_EQ(names(fleet["workers"][0]), (Words{"ageMs", "id", "incarnation", "pod", "state"}));
  EXPECT_EQ(fleet["workers"][0]["state"], "leads");
  EXPECT_EQ(fleet["workers"][1]["id"], "w2");
  EXPECT_EQ(fleet["workers"][1]["state"], "live");
  EXPECT_EQ(fleet["workers"][1]["incarnation"].get<std::string>().size(), 36u);
}

// S13, P07: SIGTERM hands over the leadership, so that the successor does not wait for the lease.
TEST_F(MusterElectionTest, SigtermHandsOverAndExitsWithZero) {
  // The lease is long enough that only a hand-over can be this quick.
  const std::string lease = "30s";
  Worker first(store_, "w1", {}, lease);
  ASSERT_FALSE(first.next("term:began").is_null());
  Worker second(store_, "w2", {}, lease);
  ASSERT_EQ(first.next("workers:updated")["workers"], (Words{"w1", "w2"}));
  EXPECT_EQ(first.terminate(), 0);
  const json ended = first.next("term:ended");
  EXPECT_EQ(ended["reason"], "released");
  EXPECT_EQ(ended["epoch"], 1);
  const json began = second.next("term:began");
  EXPECT_EQ(began["epoch"], 2);
  EXPECT_LT(began["time"].get<std::int64_t>() - ended["time"].get<std::int64_t>(), 5000);
  EXPECT_EQ(second.terminate(), 0);
  EXPECT_EQ(ask("leader").code, 1);
}

TEST_F(MusterElectionTest, AnotherWorkerTakesOverAfterKillNine) {
  Worker first(store_, "w1");
  ASSERT_FALSE(first.next("term:began").is_null());
  Worker second(store_, "w2");
  ASSERT_EQ(first.next("workers:updated")["workers"], (Words{"w1", "w2"}));
  first.kill();
  EXPECT_EQ(second.next("term:began")["epoch"], 2);
  EXPECT_EQ(ask("leader").json()["leader"], "w2");
  second.kill();
  // Nobody is left: its lease runs out, by the age and by waiting.
  EXPECT_EQ(ask("leader", {"--confirm"}).json()["leader"], nullptr);
  EXPECT_EQ(ask("leader").code, 1);
}

TEST_F(MusterElectionTest, AnyProgramMayAskOverHttp) {
  Worker first(store_, "w1", {"--http", "127.0.0.1:0"});
  const json leading = first.next("http:listening");
  ASSERT_FALSE(first.next("term:began").is_null());
  Worker second(store_, "w2", {"--http", "127.0.0.1:0"});
  const json following = second.next("http:listening");
  ASSERT_FALSE(second.next("workers:updated").is_null());

  const HttpResponse yes = get(leading, "/leader");
  EXPECT_EQ(yes.status, 200);
  EXPECT_EQ(names(json::parse(yes.body)), (Words{"deadlineMs", "epoch", "leader"}));
  EXPECT_EQ(json::parse(yes.body)["leader"], "w1");
  EXPECT_GT(json::parse(yes.body)["deadlineMs"], 0);
  EXPECT_LE(json::parse(yes.body)["deadlineMs"], 840);  // A lease of 1 s, held for 84 %.

  const HttpResponse no = get(following, "/leader");
  EXPECT_EQ(no.status, 503);
  EXPECT_EQ(json::parse(no.body), json::parse(R"({"leader":"w1","epoch":1,"deadlineMs":0})"));

  EXPECT_EQ(json::parse(get(following, "/workers").body)["workers"], (Words{"w1", "w2"}));
  const json metrics = json::parse(get(leading, "/metrics.json").body);
  EXPECT_GE(metrics["heartbeatCount"], 1);
  EXPECT_EQ(metrics["leaderChanges"], 1);
  EXPECT_EQ(metrics["heartbeatLatencies"].size(), metrics["heartbeatLatencySamples"]);
  EXPECT_THAT(get(leading, "/metrics").body,
              testing::ContainsRegex("election_duration_seconds_sum[^ ]* [0-9.e-]*[1-9]"));
  EXPECT_EQ(get(leading, "/healthz").status, 200);
  EXPECT_EQ(get(leading, "/nothing").status, 404);
}

TEST_F(MusterElectionTest, AnAddressThatIsTakenIsRefused) {
  Worker first(store_, "w1", {"--http", "127.0.0.1:0"});
  const int port = first.next("http:listening")["port"];
  const Outcome second = run_muster(
      {"worker", "--arbiter", store_, "--id", "w2", "--http", "127.0.0.1:" + std::to_string(port)});
  EXPECT_EQ(second.code, 69);
  EXPECT_THAT(second.err, ::testing::HasSubstr("the port may be in use"));
}

// R38: four slow connections kept everybody else from an answer, and any Host was believed.
TEST_F(MusterElectionTest, SlowConnectionsAndOtherHostsDoNotReachAWorker) {
  Worker worker(store_, "w1", {"--http", "127.0.0.1:0"});
  const json listening = worker.next("http:listening");
  {
    const SlowClients slow(listening, 300);
    const MonoTime asked = boot_now();
    EXPECT_EQ(get(listening, "/healthz").status, 200);
    EXPECT_LT(boot_now() - asked, 8s) << "none of them had to time out";
    EXPECT_LE(slow.open(), 64U);
  }
  EXPECT_THAT(get_as(listening, "evil.example:80", "/workers"),
              ::testing::StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(get_as(listening, "[::1]:9010", "/workers"), ::testing::StartsWith("HTTP/1.1 200 "));
}

// R15: operators' commands reached muster run only.
TEST_F(MusterElectionTest, OperatorsReachAWorkerOnADirectory) {
  step_down_pause_resume_and_transfer(store_);
}

// R43: nothing listed elections, and who forgot --name was told that nobody has led.
TEST_F(MusterElectionTest, ElectionsAreListedAndTheLeaderOfAnotherIsHintedAt) {
  std::filesystem::create_directory(dir_.path() / "store");
  EXPECT_EQ(ask("elections").json(), json::parse(R"({"elections":[]})"));
  Worker worker(store_, "w1", {"--name", "fleet"});
  ASSERT_FALSE(worker.next("term:began").is_null());
  const TempDir dir;
  ChildProcess job(prepared({"run", "--arbiter", store_, "--namespace", "job", "--id", "n1", "--",
                             "sh", "-c", "echo runs; exec cat"},
                            dir.path() / "errors"));
  ASSERT_EQ(job.read_line(), "runs");

  const json elections = ask("elections").json()["elections"];
  ASSERT_EQ(elections.size(), 2u);
  EXPECT_EQ(names(elections[0]), (Words{"ageMs", "candidates", "confirmed", "epoch", "leader",
                                        "leaseLeftMs", "name", "problem"}));
  EXPECT_EQ(elections[0]["name"], "fleet");
  EXPECT_EQ(elections[0]["leader"], "w1");
  EXPECT_EQ(elections[0]["candidates"], 1);
  EXPECT_EQ(elections[1]["name"], "job");
  EXPECT_EQ(elections[1]["leader"], "n1");

  const Outcome forgotten = run_muster({"leader", "--arbiter", store_});
  EXPECT_EQ(forgotten.code, 1);
  EXPECT_EQ(forgotten.out, "there has been no leader of default yet\n");
  EXPECT_THAT(forgotten.err, ::testing::HasSubstr("fleet (w1), job (n1)"));
  const Outcome named = run_muster({"leader", "--arbiter", store_, "--name", "job"});
  EXPECT_THAT(named.out, ::testing::StartsWith("n1 leads job, epoch 1"));
  EXPECT_EQ(named.err, "");
}

// R43: the hint named leaders whose leases were over, and `muster leader --name` denied them.
TEST_F(MusterElectionTest, NobodyIsHintedAtWhoseLeaseIsOver) {
  Worker worker(store_, "w1", {"--name", "fleet"});
  ASSERT_FALSE(worker.next("term:began").is_null());
  worker.kill();
  const Outcome led = run_muster({"leader", "--arbiter", store_, "--name", "fleet", "--confirm"});
  ASSERT_EQ(led.code, 1) << led.out << "its lease is waited out here";
  const Outcome forgotten = run_muster({"leader", "--arbiter", store_});
  EXPECT_EQ(forgotten.code, 1);
  EXPECT_EQ(forgotten.err, "");
}

// S05: two processes with one id are found, and said so.
TEST_F(MusterElectionTest, ASecondProcessWithTheSameIdIsReported) {
  Worker first(store_, "w1");
  ASSERT_FALSE(first.next("term:began").is_null());
  Worker second(store_, "w1");
  EXPECT_EQ(second.next("trouble")["kind"], "duplicate-worker");
}

}  // namespace election_test
}  // namespace muster
