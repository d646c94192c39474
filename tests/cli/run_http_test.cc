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

}  // namespace run_http_test
}  // namespace muster
