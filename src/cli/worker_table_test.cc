#include "cli/worker_table.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace worker_table_test {

WorkerFile file(const char* id, std::optional<Duration> age, bool stopped = false) {
  WorkerFile file{WorkerId(id), age, {}};
  file.record.stopped = stopped;
  return file;
}

std::vector<std::string> states(const std::vector<WorkerFile>& files,
                                const std::optional<WorkerId>& leader,
                                const std::vector<WorkerId>& published) {
  std::vector<std::string> result;
  for (const WorkerRow& row : judge_workers(files, leader, published, 20s)) {
    result.push_back(row.state);
  }
  return result;
}

using Words = std::vector<std::string>;

TEST(WorkerTableTest, TheLeadersListDecidesWhileThereIsALeader) {
  EXPECT_EQ(states({file("a", 1s), file("b", 19s), file("c", 2s), file("d", 40s)}, WorkerId("a"),
                   {WorkerId("a"), WorkerId("b")}),
            (Words{"leads", "live", "joining", "silent"}));
}

TEST(WorkerTableTest, WithoutALeaderTheAgeOfAFileDecides) {
  EXPECT_EQ(states({file("a", 1s), file("b", 40s)}, {}, {WorkerId("b")}),
            (Words{"live", "silent"}));
}

TEST(WorkerTableTest, ALeaderThatPublishesNoListLeavesItToTheAges) {
  EXPECT_EQ(states({file("a", 1s), file("b", 2s)}, WorkerId("a"), {}), (Words{"leads", "live"}));
}

TEST(WorkerTableTest, AStoreWithoutAClockLeavesSomeUnknown) {
  EXPECT_EQ(
      states({file("a", {}), file("b", {}), file("c", {}, true)}, WorkerId("a"), {WorkerId("a")}),
      (Words{"leads", "unknown", "stopped"}));
}

TEST(WorkerTableTest, OnlyWhoIsThereAndWouldTakeItIsFitToLead) {
  const auto unfit = [](const WorkerFile& candidate) {
    return unfit_to_lead(candidate, WorkerId("a"), {WorkerId("a"), WorkerId("b")}, 20s);
  };
  EXPECT_EQ(unfit(file("a", 1s)), "a leads already");
  EXPECT_EQ(unfit(file("b", {})), "");
  EXPECT_EQ(unfit(file("c", 1s)), "") << "it has just come";
  EXPECT_EQ(unfit(file("c", {})), "c is not among the nodes that the leader sees");
  EXPECT_EQ(unfit(file("c", 41200ms)), "c has been silent for 41s");
  EXPECT_EQ(unfit(file("b", 21s)), "b has been silent for 21s") << "the leader has not noticed yet";
  WorkerFile slow = file("b", 21s);
  slow.record.last_heartbeat = wall_from_ms(5'000);
  slow.record.expires_at = wall_from_ms(65'000);
  EXPECT_EQ(unfit(slow), "") << "it writes rarely";
  EXPECT_EQ(unfit(file("c", 1s, true)), "c has left");
  WorkerFile paused = file("b", 1s);
  paused.record.aside = "paused";
  EXPECT_EQ(unfit(paused), "b does not campaign (paused)");
}

}  // namespace worker_table_test
}  // namespace muster::cli
