#pragma once

#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "platform/unique_fd.h"
#include "tests/cli/muster_program.h"

namespace muster {

/// A program on a terminal of its own, as a person sits in front of it.
class OnTerminal {
 public:
  explicit OnTerminal(const Words& words) {
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    int terminal = -1;
    pid_ = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    terminal_.reset(terminal);
  }
  ~OnTerminal() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    (void)finish();
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  void type(const std::string& text) {
    EXPECT_EQ(::write(terminal_.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  /// Everything on the screen once `wanted` is there, or its program has ended.
  std::string until(const std::string& wanted) {
    char block[512];
    while (screen_.find(wanted) == screen_.npos) {
      const ssize_t count = ::read(terminal_.get(), block, sizeof block);
      if (count <= 0) break;
      screen_.append(block, static_cast<std::size_t>(count));
    }
    return screen_;
  }
  int finish() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  UniqueFd terminal_;
  std::string screen_;
};

}  // namespace muster
