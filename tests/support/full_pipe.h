#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "platform/unique_fd.h"

namespace muster {

/// A pipe into which nothing more goes, and which nobody reads until read_all(). One thread.
class FullPipe {
 public:
  FullPipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    reader_.reset(ends[0]);
    writer_.reset(ends[1]);
    const std::string block(4096, 'x');
    while (::write(writer_.get(), block.data(), block.size()) > 0) {
    }
    EXPECT_EQ(errno, EAGAIN);
    for (const int fd : ends) EXPECT_EQ(::fcntl(fd, F_SETFL, 0), 0);
  }
  /// What writes to it.
  [[nodiscard]] int fd() const { return writer_.get(); }
  [[nodiscard]] bool blocks() const { return (::fcntl(fd(), F_GETFL) & O_NONBLOCK) == 0; }

  /// Gives its own writing end up, and reads until nobody holds one any more.
  [[nodiscard]] std::string read_all() {
    writer_.reset();
    std::string text;
    char block[4096];
    ssize_t count = 0;
    while ((count = ::read(reader_.get(), block, sizeof block)) > 0) {
      text.append(block, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  UniqueFd reader_;
  UniqueFd writer_;
};

}  // namespace muster
