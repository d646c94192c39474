#include "platform/line_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <string>
#include <thread>

#include "base/log.h"
#include "platform/signals.h"
#include "platform/unique_fd.h"

namespace muster {
namespace line_writer_test {

class LineWriterTest : public ::testing::Test {
 protected:
  LineWriterTest() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader.reset(ends[0]);
    writer.reset(ends[1]);
  }
  ~LineWriterTest() override { set_log_sink({}); }

  void fill_pipe() const {
    ASSERT_EQ(::fcntl(writer.get(), F_SETFL, O_NONBLOCK), 0);
    const std::string block(4096, 'x');
    while (::write(writer.get(), block.data(), block.size()) > 0) {
    }
    ASSERT_EQ(::fcntl(writer.get(), F_SETFL, 0), 0);
  }
  /// Reads until this text is there, or the pipe is closed.
  std::string read_until(const std::string& wanted) {
    char block[4096];
    while (text.find(wanted) == std::string::npos) {
      const ssize_t count = ::read(reader.get(), block, sizeof block);
      if (count <= 0) break;
      text.append(block, static_cast<std::size_t>(count));
    }
    return text;
  }

  UniqueFd reader;
  UniqueFd writer;
  std::string text;
};

TEST_F(LineWriterTest, LinesComeOutInOrder) {
  LineWriter lines(writer.get());
  EXPECT_TRUE(lines.drain(0s)) << "nothing was given yet";
  for (const char* each : {"one\n", "two\n", "three\n"}) lines.write(each);
  EXPECT_EQ(read_until("three\n"), "one\ntwo\nthree\n");
  EXPECT_TRUE(lines.drain(30s));
}

TEST_F(LineWriterTest, WhatWasGivenIsWrittenBeforeItsEnd) {
  {
    LineWriter lines(writer.get());
    for (int n = 0; n < 100; ++n) lines.write(std::to_string(n) + "\n");
  }
  writer.reset();
  EXPECT_TRUE(read_until("never").ends_with("98\n99\n"));
}

TEST_F(LineWriterTest, AReaderThatStopsReadingDelaysNobodyAndIsToldWhatItMissed) {
  constexpr int kLines = 100;
  fill_pipe();
  LineWriter lines(writer.get(), /*bytes_max=*/4096);
  set_log_sink([&](const LogLine& line) { lines.write(format_text(line) + "\n"); });
  const std::string filling(200, 'x');
  int dropped = 0;
  for (int n = 0; n < kLines; ++n) dropped += lines.write(filling + "\n") ? 0 : 1;
  EXPECT_FALSE(lines.drain(10ms));

  std::thread slow([&] { read_until("the end\n"); });
  EXPECT_TRUE(lines.drain(30s));
  lines.write("the end\n");
  slow.join();
  const std::string warning = "output was not read; lines were lost lines=";
  long lost = 0;
  long others = 1;
  for (std::size_t at = text.find(warning); at != text.npos; at = text.find(warning, at + 1)) {
    lost += std::stol(text.substr(at + warning.size()));
    ++others;
  }
  EXPECT_GT(lost, 0);
  EXPECT_EQ(lost, dropped);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n') - others + lost, kLines);
}

TEST_F(LineWriterTest, AReaderThatHasGoneHoldsUpNothing) {
  ignore_broken_pipes();
  reader.reset();
  LineWriter lines(writer.get());
  std::promise<void> told;
  lines.when_broken([&] { told.set_value(); });
  EXPECT_FALSE(lines.broken());
  for (int n = 0; n < 100; ++n) lines.write(std::string(4096, 'x'));
  EXPECT_TRUE(lines.drain(30s));
  told.get_future().wait();
  EXPECT_TRUE(lines.broken());
  EXPECT_FALSE(lines.write("more\n"));
  bool again = false;
  lines.when_broken([&] { again = true; });
  EXPECT_TRUE(again) << "anyone who asks later is told at once";
}

// The descriptor is shared with the command, and with whatever else has it.
TEST_F(LineWriterTest, ADescriptorThatSomebodyMadeNonBlockingLosesNothing) {
  ASSERT_EQ(::fcntl(writer.get(), F_SETFL, O_NONBLOCK), 0);
  LineWriter lines(writer.get());
  const std::string many(200'000, 'x');
  lines.write(many + "\n");
  EXPECT_EQ(read_until("\n").size(), many.size() + 1);
  EXPECT_NE(::fcntl(writer.get(), F_GETFL) & O_NONBLOCK, 0) << "and it stays so";
}

}  // namespace line_writer_test
}  // namespace muster
