// Standard output of `muster worker` when nobody reads it.
#include <gtest/gtest.h>

#include "platform/system_clock.h"
#include "tests/cli/guest.h"
#include "tests/cli/muster_program.h"
#include "tests/support/full_pipe.h"

namespace muster {
namespace worker_output_test {

TEST(WorkerOutputTest, AStandardOutputThatNobodyReadsCostsNeitherTheLeaseNorASignal) {
  const TempDir dir;
  const std::string store = "file://" + (dir.path() / "store").string();
  const FullPipe events;
  Command command{.argv = {MUSTER_PROGRAM, "worker", "--arbiter", store, "--id", "w1", "--json",
                           "--startup-jitter-max", "0s"}};
  command.null_stdin = true;
  command.descriptors = {{events.fd(), 1}};
  Guest worker(command);
  // Until the worker has made the store, there is none to ask.
  const auto leader = [&] {
    const Outcome told = run_muster({"leader", "--arbiter", store, "--json"});
    return told.out.empty() ? nlohmann::json::object() : told.json();
  };
  for (const MonoTime end = boot_now() + 30s; leader()["leader"] != "w1";) {
    ASSERT_LT(boot_now(), end) << "it does not lead";
  }
  worker.signal(SIGTERM);
  ASSERT_TRUE(worker.ends_within(20s));
  EXPECT_EQ(worker.status().code, 0);
  EXPECT_EQ(leader().at("leader"), nullptr) << "it has handed over";
  EXPECT_TRUE(events.blocks()) << "what is shared was changed for others";
}

// R61: who had looked once waited for its reader, and for nothing else.
TEST(WorkerOutputTest, ACommandThatWatchesEndsWhenItsReaderHasStoppedReading) {
  const TempDir dir;
  const std::string store = "file://" + (dir.path() / "store").string();
  Worker worker(store, "w1");
  ASSERT_FALSE(worker.next("term:began").is_null());
  for (const char* watched : {"leader", "workers"}) {
    for (const int number : {SIGTERM, SIGINT}) {
      const FullPipe lines;
      Command command{.argv = {MUSTER_PROGRAM, watched, "--watch", "--arbiter", store}};
      command.null_stdin = true;
      command.descriptors = {{lines.fd(), 1}};
      Guest watch(command);
      for (const MonoTime end = boot_now() + 30s; !watch.waits_for(number);) {
        ASSERT_LT(boot_now(), end) << watched;
      }
      watch.signal(number);
      ASSERT_TRUE(watch.ends_within(20s)) << watched;
      EXPECT_EQ(watch.status().code, 0) << watched;
    }
  }
}

// R13: a terminal that is closed cost the others a lease.
TEST(WorkerOutputTest, AHangUpHandsOver) {
  const TempDir dir;
  const std::string store = "file://" + (dir.path() / "store").string();
  ChildProcess worker(
      prepared({"worker", "--arbiter", store, "--id", "w1", "--json", "--startup-jitter-max", "0s"},
               "/dev/null"));
  for (std::string line = worker.read_line(); line.find("term:began") == line.npos;) {
    ASSERT_FALSE(line.empty());
    line = worker.read_line();
  }
  ::kill(worker.pid(), SIGHUP);
  EXPECT_EQ(worker.finish(), 0);
  EXPECT_EQ(run_muster({"leader", "--arbiter", store, "--json"}).json()["leader"], nullptr);
}

}  // namespace worker_output_test
}  // namespace muster
