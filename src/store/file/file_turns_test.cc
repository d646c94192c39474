// Processes that share a directory have their turn, whatever another one does.

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "platform/system_clock.h"
#include "store/file/directory.h"
#include "store/file/test_client.h"
#include "store/file/test_process.h"

namespace muster::file {
namespace file_turns_test {

/// Keeps 16 writes under way for ever, as 16 threads do that write one after the other.
void write_for_ever(const std::string& path, const std::string& options, int ready) {
  TestClient client(path, options);
  std::function<void(int)> next = [&](int i) {
    client.store().put("hog/" + std::to_string(i), "x", {}, Deadline::max(),
                       [&, i](const Result<Revision>& written) {
                         if (!written) ::_exit(2);
                         next(i);
                       });
  };
  client.loop().run([&] {
    for (int i = 0; i < 16; ++i) next(i);
  });
  if (::write(ready, "x", 1) != 1) ::_exit(3);
  while (true) ::pause();
}

class FileTurnsTest : public ::testing::Test {
 protected:
  void start_hogs(int count, const std::string& options) {
    Pipe pipe;
    for (int i = 0; i < count; ++i) {
      hogs_.emplace_back([&] { write_for_ever(dir_.path(), options, pipe.write.get()); });
    }
    char byte = 0;
    for (int i = 0; i < count; ++i) ASSERT_EQ(::read(pipe.read.get(), &byte, 1), 1);
  }
  /// The longest of so many writes, one after the other.
  Duration longest_write(TestClient& client, int writes) {
    Duration longest{0};
    for (int i = 0; i < writes; ++i) {
      const MonoTime start = boot_now();
      EXPECT_TRUE(client.put("leader", std::to_string(i)).ok());
      longest = std::max<Duration>(longest, boot_now() - start);
    }
    return longest;
  }

  TempDir dir_;
  std::vector<Child> hogs_;
};

TEST_F(FileTurnsTest, AWriterAmongThoseWhoWriteWithoutPauseHasItsTurn) {
  start_hogs(3, "?sync=off");
  TestClient client(dir_.path());
  EXPECT_LT(longest_write(client, 200), 1s);
}

TEST_F(FileTurnsTest, AlsoWhereEveryWriteWaitsForTheDisk) {
  start_hogs(2, "");
  TestClient client(dir_.path(), "");
  EXPECT_LT(longest_write(client, 20), 1s);
}

/// Holds the lock as often as it can and lets go between.
TEST_F(FileTurnsTest, OneThatLocksAgainAtOnceWaitsForThoseWhoWaited) {
  auto hog = Directory::open(dir_.path(), {.sync = false}).value();
  auto waiter = Directory::open(dir_.path(), {.sync = false}).value();
  ASSERT_TRUE(hog->try_lock().value());
  ASSERT_FALSE(waiter->try_lock().value());
  hog->unlock();
  EXPECT_FALSE(hog->try_lock().value());
  ASSERT_TRUE(waiter->try_lock().value());
  waiter->unlock();
  EXPECT_TRUE(hog->try_lock().value());
  hog->unlock();
  ASSERT_TRUE(hog->try_lock().value());
  ASSERT_FALSE(waiter->try_lock().value());
  waiter->stop_waiting();
  hog->unlock();
  EXPECT_TRUE(hog->try_lock().value()) << "nobody waits any more";
}

TEST_F(FileTurnsTest, AWaiterThatIsStoppedHoldsUpNobodyForLong) {
  auto holder = Directory::open(dir_.path(), {.sync = false}).value();
  ASSERT_TRUE(holder->try_lock().value());
  Child stopped([&] {
    auto directory = Directory::open(dir_.path(), {.sync = false}).value();
    if (directory->try_lock().value()) ::_exit(1);
    ::raise(SIGSTOP);
  });
  stopped.wait_until_stopped();
  holder->unlock();
  TestClient client(dir_.path());
  EXPECT_LT(longest_write(client, 1000), 1s);
}

TEST_F(FileTurnsTest, WaitersThatAreKilledHoldUpNobody) {
  auto holder = Directory::open(dir_.path(), {.sync = false}).value();
  ASSERT_TRUE(holder->try_lock().value());
  for (int i = 0; i < 3; ++i) {
    Child waiter([&] {
      auto directory = Directory::open(dir_.path(), {.sync = false}).value();
      if (directory->try_lock().value()) ::_exit(1);
      ::raise(SIGSTOP);
    });
    waiter.wait_until_stopped();
    waiter.kill();
  }
  holder->unlock();
  EXPECT_TRUE(holder->try_lock().value());
}

}  // namespace file_turns_test
}  // namespace muster::file
