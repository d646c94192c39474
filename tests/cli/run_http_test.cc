#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/http_get.h"
#include "tests/cli/run_program.h"

namespace muster {
namespace run_http_test {

using testing::HasSubstr;
using Json = nlohmann::json;

// C13: what a candidate counts can be had from the program, too.
TEST(RunHttpTest, AnyProgramMayAskWhetherThisNodeLeads) {
  const TempDir dir;
  const std::string store = "file://" + (dir.path() / "store").string();
  const Words http{"--http", "127.0.0.1:0"};
  Runner leader(store, "n1", http, {"sleep", "1000"});
  const Json leading = leader.next("http_listening");
  ASSERT_FALSE(leader.next("child_started").is_null());
  Runner waiting(store, "n2", http, {"sleep", "1000"});
  const Json standing_by = waiting.next("http_listening");
  ASSERT_FALSE(waiting.next("leader_changed").is_null());

  const HttpResponse yes = get(leading, "/leader");
  EXPECT_EQ(yes.status, 200);
  EXPECT_EQ(Json::parse(yes.body)["leader"], "n1");
  EXPECT_GT(Json::parse(yes.body)["deadlineMs"], 0);
  const HttpResponse no = get(standing_by, "/leader");
  EXPECT_EQ(no.status, 503);
  EXPECT_EQ(Json::parse(no.body), Json::parse(R"({"leader":"n1","epoch":1,"deadlineMs":0})"));

  const std::string metrics = get(leading, "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("muster_candidate_leader{namespace=\"job\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("muster_candidate_became_leader_total{namespace=\"job\"} 1\n"));
  EXPECT_THAT(metrics,
              HasSubstr("muster_candidate_state{namespace=\"job\",state=\"leading\"} 1\n"));
  EXPECT_THAT(get(standing_by, "/metrics").body,
              HasSubstr("muster_candidate_leader_changes_total{namespace=\"job\"} 1\n"));
  EXPECT_EQ(get(leading, "/healthz").status, 200);
  EXPECT_EQ(get(leading, "/workers").status, 404);
}

TEST(RunHttpTest, AnswersBeforeTheStoreDoes) {
  const TempDir dir;
  Runner runner("file://" + (dir.path() / "late" / "store").string(), "n1",
                {"--http", "127.0.0.1:0"}, {"true"});
  const Json listening = runner.next("http_listening");
  EXPECT_EQ(get(listening, "/healthz").status, 200);
  EXPECT_EQ(get(listening, "/leader").status, 503);
  EXPECT_EQ(get(listening, "/metrics").status, 200);
  EXPECT_EQ(runner.terminate(), 128 + SIGTERM);
}

// R38: four slow connections kept everybody else from an answer.
TEST(RunHttpTest, SlowConnectionsKeepNobodyFromAnAnswer) {
  const TempDir dir;
  Runner runner("file://" + (dir.path() / "store").string(), "n1", {"--http", "127.0.0.1:0"},
                {"sleep", "1000"});
  const Json listening = runner.next("http_listening");
  const SlowClients slow(listening, 300);
  const MonoTime asked = boot_now();
  EXPECT_EQ(get(listening, "/healthz").status, 200);
  EXPECT_LT(boot_now() - asked, 8s) << "none of them had to time out";
  // Those that came last may wait to be accepted, and closed.
  while (slow.open() > 64 && boot_now() - asked < 30s) get(listening, "/healthz");
  EXPECT_LE(slow.open(), 64U);
  EXPECT_EQ(runner.terminate(), 128 + SIGTERM);
}

// R38: a web page whose name leads to loopback could read who leads.
TEST(RunHttpTest, ARequestThatNamesAnotherMachineIsRefused) {
  const TempDir dir;
  Runner runner("file://" + (dir.path() / "store").string(), "n1", {"--http", "localhost:0"},
                {"sleep", "1000"});
  const Json listening = runner.next("http_listening");
  for (const char* path : {"/leader", "/metrics", "/healthz", "/nothing"}) {
    EXPECT_THAT(
        get_as(listening, "evil.example", path),
        testing::AllOf(testing::StartsWith("HTTP/1.1 403 "), HasSubstr("use the host localhost")))
        << path;
  }
  for (const char* own :
       {"localhost", "LOCALHOST:9010", "127.0.0.1:9010", "[::1]:9010", "[0:0:0:0:0:0:0:1]"}) {
    EXPECT_THAT(get_as(listening, own, "/healthz"), testing::StartsWith("HTTP/1.1 200 ")) << own;
  }
}

TEST(RunHttpTest, APortThatIsTakenIsAnErrorBeforeAnythingRuns) {
  const TempDir dir;
  const std::string store = "file://" + (dir.path() / "store").string();
  Runner first(store, "n1", {"--http", "127.0.0.1:0"}, {"sleep", "1000"});
  const int port = first.next("http_listening")["port"];
  const std::string address = "127.0.0.1:" + std::to_string(port);
  const Outcome second = run_job(store, {"--http", address}, {"sleep", "1000"});
  EXPECT_EQ(second.code, 69);
  EXPECT_THAT(second.err, HasSubstr("cannot listen on http://" + address));
  const Outcome worker = run_muster({"worker", "--arbiter", store, "--http", address});
  EXPECT_EQ(worker.code, 69);
  EXPECT_THAT(worker.err, HasSubstr("cannot listen on http://" + address));
}

}  // namespace run_http_test
}  // namespace muster
