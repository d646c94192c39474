// Standard error of musterd when nobody reads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/server/musterd.h"
#include "tests/support/child_process.h"
#include "tests/support/full_pipe.h"

namespace muster::testing {
namespace unread_log_test {

using ::testing::HasSubstr;

class UnreadLogTest : public ::testing::Test {
 protected:
  UnreadLogTest()
      : server_("s1", "file://" + (dir_.path() / "store").string(), dir_.path(), {}, true,
                {.standard_error = errors_.fd()}) {}

  TempDir dir_;
  FullPipe errors_;
  Musterd server_;
};

// Takes about 6 s: the log goes unread for 25 times 200 ms, more than two leases of 2 s.
TEST_F(UnreadLogTest, CostsNeitherTheLeaseNorACall) {
  ASSERT_TRUE(eventually([&] { return put(server_, "k", "v", 2s).ok(); }));
  const std::uint64_t term = health(server_).raft_term();
  // Two leases and more, with something to tell all the time.
  for (int i = 0; i < 25; ++i) {
    server_.reload();
    ASSERT_TRUE(put(server_, "k", "v").ok());
    let_pass(200ms);
  }
  EXPECT_EQ(health(server_).raft_term(), term);
  EXPECT_EQ(health(server_).raft_state(), v1::RAFT_STATE_LEADER);
  EXPECT_TRUE(errors_.blocks()) << "what is shared was changed for others";
  EXPECT_EQ(server_.terminate(), 0) << "and it ends without a reader";
}

TEST_F(UnreadLogTest, WhatHasBeenToldIsWrittenBeforeTheEnd) {
  ASSERT_TRUE(eventually([&] { return put(server_, "k", "v", 2s).ok(); }));
  auto text = std::async(std::launch::async, [this] { return errors_.read_all(); });
  EXPECT_EQ(server_.terminate(), 0);
  EXPECT_THAT(text.get(), HasSubstr("musterd: info: leading server=s1"));
}

// Its own files would get their numbers, and what is meant for people would go there.
TEST(ClosedDescriptorsTest, AreNoTrouble) {
  const TempDir dir;
  const std::string script =
      "\"$0\" --insecure --id s1 --listen 127.0.0.1:0 --http-listen off --data-dir \"$1\" "
      "<&- >&- 2>&- & pid=$!; until [ -e \"$1\" ]; do sleep 0.05; done; "
      "readlink /proc/$pid/fd/2; kill $pid; wait $pid";
  ChildProcess shell({"sh", "-c", script, MUSTERD_PROGRAM, (dir.path() / "data").string()});
  EXPECT_EQ(shell.read_line(), "/dev/null");
  EXPECT_EQ(shell.finish(), 0);
}

}  // namespace unread_log_test
}  // namespace muster::testing
