// Standard error of `muster run` when nobody reads it.
#include <gtest/gtest.h>

#include "tests/cli/guest.h"
#include "tests/cli/run_program.h"
#include "tests/support/full_pipe.h"

namespace muster {
namespace run_output_test {

// Takes about 6 s: it must run on for 5 s, more than two leases of 2 s.
TEST(RunOutputTest, AStandardErrorThatNobodyReadsCostsNeitherTheLeaseNorASignal) {
  const TempDir dir;
  const std::string starts = dir.path() / "starts";
  const FullPipe errors;
  const std::string script = "echo $MUSTER_EPOCH >> " + starts + "; exec sleep 1000";
  Command command{.argv = {MUSTER_PROGRAM, "run", "--arbiter",
                           "file://" + (dir.path() / "store").string(), "--name", "job", "--id",
                           "n1", "--json", "--lease-timeout", "2s", "--election-interval", "20ms",
                           "--", "sh", "-c", script}};
  command.null_stdin = true;
  command.descriptors = {{errors.fd(), 2}};
  Guest muster(command);
  // Two leases: anyone who waits for a reader has lost one of them, and its command.
  EXPECT_FALSE(muster.ends_within(5s));
  EXPECT_EQ(content(starts), "1\n");
  muster.signal(SIGTERM);
  ASSERT_TRUE(muster.ends_within(30s));
  EXPECT_EQ(muster.status().code, 128 + SIGTERM);
  EXPECT_TRUE(errors.blocks()) << "what is shared was changed for others";
}

// Its own sockets and files would get their numbers, and what is meant for people would go there.
TEST(RunOutputTest, ClosedStandardDescriptorsAreNoTrouble) {
  const TempDir dir;
  const std::string proof = dir.path() / "proof";
  EXPECT_EQ(run_program({"sh", "-c", "exec \"$@\" <&- >&- 2>&-", "sh", MUSTER_PROGRAM, "run",
                         "--arbiter", "file://" + (dir.path() / "store").string(), "--name", "job",
                         "--", "sh", "-c", "readlink /proc/$$/fd/2 > " + proof + "; exit 3"}),
            3);
  EXPECT_EQ(content(proof), "/dev/null\n");
}

}  // namespace run_output_test
}  // namespace muster
