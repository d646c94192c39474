#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "platform/event_loop.h"
#include "platform/process.h"
#include "platform/process_table.h"
#include "platform/system_clock.h"

namespace muster::testing {

/// A loop, and a way to find every process that a test has caused, however it hides: by a word in
/// its environment or in its arguments. Whatever is found at the end is killed and is a failure.
class ProcessScene : public ::testing::Test {
 protected:
  ProcessScene() { set_log_sink({}); }
  ~ProcessScene() override {
    for (const pid_t pid : living()) {
      ADD_FAILURE() << "process " << pid << " was left behind";
      ::kill(pid, SIGKILL);
    }
  }

  /// `script` for sh, in which $ENDLESS is a command that runs for ever and is found by its
  /// arguments even when it has no environment.
  [[nodiscard]] Command shell(const std::string& script) const {
    // The last one is $0 of the script, and what a guardian is found by, which has our environment.
    Command command{.argv = {"sh", "-c", script, "sh-9" + word_}};
    command.environment = environment();
    command.environment->push_back("MUSTER_TEST=" + word_);
    command.environment->push_back("ENDLESS=sleep 9" + word_);
    return command;
  }

  /// The processes of this test that have not ended, guardians included.
  [[nodiscard]] std::vector<pid_t> living() const {
    std::vector<pid_t> found;
    ProcessTable table;
    table.look();
    for (const ProcessEntry& each : table.all()) {
      if (each.ended() || each.pid == ::getpid()) continue;
      if (started_with(each.pid, "MUSTER_TEST=" + word_) || arguments_hold(each.pid)) {
        found.push_back(each.pid);
      }
    }
    return found;
  }

  /// Runs the loop until `holds`; false when it does not for long.
  bool until(const std::function<bool()>& holds, Duration limit = 30s) {
    const MonoTime end = loop.now() + limit;
    while (!holds()) {
      if (loop.now() >= end) return false;
      loop.run_until(loop.now() + 2ms);
    }
    return true;
  }

  /// NAME=value of a variable of a running process.
  [[nodiscard]] static std::string assignment_of(pid_t pid, const std::string& name) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
    std::string each;
    while (std::getline(file, each, '\0') && !each.starts_with(name + "=")) {
    }
    return each;
  }
  /// Runs the loop until `holds` while there is always a process with this variable, so that
  /// killing those never ends.
  bool until_beside(const std::string& assignment, const std::function<bool()>& holds) {
    std::vector<Process> strays;
    bool going = true;
    // The loop runs tasks before timers: so each look of the other side has a new one to find.
    const std::function<void()> turn = [&] {
      if (!going) return;
      strays.push_back(*spawn({.argv = {"sleep", "60"}, .environment = {{assignment}}}));
      // While the kernel still sets it up, its environment cannot be seen.
      while (!started_with(strays.back().pid(), assignment)) ::sched_yield();
      std::erase_if(strays, [](Process& each) { return each.try_wait().has_value(); });
      loop.post([&turn] { turn(); });
    };
    turn();
    // A loop without time left does not look at its descriptors, and spawning under a sanitizer on
    // a busy machine takes any time: so it is given more and more.
    const MonoTime end = loop.now() + 1min;
    for (Duration time = 200ms; !holds() && loop.now() < end; time *= 2) {
      loop.run_until(loop.now() + time);
    }
    const bool held = holds();
    going = false;
    loop.run_until(loop.now());
    for (Process& each : strays) {
      each.signal(SIGKILL);
      (void)each.wait();
    }
    return held;
  }

  [[nodiscard]] static std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  EventLoop loop;
  const std::string folder = ::testing::TempDir();
  const std::string word_ = std::to_string(::getpid()) + std::to_string(++tests_);

 private:
  [[nodiscard]] bool arguments_hold(pid_t pid) const {
    const UniqueFd fd(
        ::open(("/proc/" + std::to_string(pid) + "/cmdline").c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 4096> text;
    const ssize_t length = fd.valid() ? ::read(fd.get(), text.data(), text.size()) : 0;
    if (length <= 0) return false;
    const std::string_view all(text.data(), static_cast<std::size_t>(length));
    return all.find("9" + word_) != std::string_view::npos;
  }

  static inline int tests_ = 1000;
};

}  // namespace muster::testing
