#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "platform/unique_fd.h"

namespace muster::file {

/// A process of the test's own; whatever the test does, it does not outlive it.
class Child {
 public:
  explicit Child(const std::function<void()>& main) : pid_(::fork()) {
    if (pid_ != 0) return;
    main();
    ::_exit(0);
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;
  ~Child() { kill(); }

  /// False when it had ended by itself before.
  bool kill() {
    if (pid_ <= 0) return false;
    ::kill(pid_, SIGKILL);
    return WIFSIGNALED(wait());
  }
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }
  void wait_until_stopped() const {
    int status = 0;
    while (::waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
    ASSERT_TRUE(WIFSTOPPED(status));
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) ADD_FAILURE() << "no pipe";
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  UniqueFd read, write;
};

/// Runs `body` in a process with mounts of its own and returns what it printed. At `path` is a file
/// system in memory.
inline std::string in_private_mounts(const std::string& path, const std::string& mount_options,
                                     const std::function<std::string()>& body) {
  Pipe pipe;
  Child child([&] {
    std::string said;
    // Without root, a user namespace of our own makes us root enough.
    if ((::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", path.c_str(), "tmpfs", 0, mount_options.c_str()) != 0) {
      said = std::string("not permitted: ") + std::strerror(errno);
    } else {
      said = body();
    }
    if (::write(pipe.write.get(), said.data(), said.size()) < 0) ::_exit(1);
  });
  pipe.write.reset();
  std::string said(4096, '\0');
  const ssize_t n = ::read(pipe.read.get(), said.data(), said.size());
  said.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  EXPECT_EQ(child.wait(), 0);
  return said;
}

}  // namespace muster::file
