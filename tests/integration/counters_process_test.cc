// A leader at default timings while another process adds to counters from 16 threads without pause.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "coordinator/hub.h"
#include "platform/system_clock.h"
#include "plugins/counters.h"

namespace muster {
namespace counters_process_test {

namespace fs = std::filesystem;

constexpr int kThreads = 16;

[[noreturn]] void add_for_ever(const std::string& url, int ready) {
  const auto hub = Hub::open(url).value();
  Counters counters(hub->store());
  std::vector<std::thread> threads;
  std::atomic<int> added = 0;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (true) {
        (void)counters.add("hits", 1);
        if (++added == kThreads && ::write(ready, "x", 1) != 1) ::_exit(1);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  ::_exit(0);
}

/// A directory, and the process that adds there; neither outlives this.
class Adder {
 public:
  Adder() {
    if (::mkdtemp(directory_.data()) == nullptr || ::pipe(ends_) != 0) ::abort();
    pid_ = ::fork();  // Before this process has threads.
    if (pid_ == 0) add_for_ever(url(), ends_[1]);
  }
  ~Adder() {
    ::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
    for (const int fd : ends_) ::close(fd);
    fs::remove_all(directory_);
  }
  Adder(const Adder&) = delete;
  Adder& operator=(const Adder&) = delete;
  [[nodiscard]] std::string url() const { return "file://" + directory_; }
  /// Waits until every thread has added.
  [[nodiscard]] bool await() const {
    char byte = 0;
    return ::read(ends_[0], &byte, 1) == 1;
  }

 private:
  std::string directory_ = (fs::temp_directory_path() / "muster-adds-XXXXXX").string();
  int ends_[2] = {-1, -1};
  pid_t pid_ = -1;
};

/// MUSTER_ADDS_SECONDS; `./dev soak` asks for five minutes.
Duration how_long() {
  const char* wanted = std::getenv("MUSTER_ADDS_SECONDS");
  return std::chrono::seconds(wanted ? parse_unsigned(wanted).value_or(3) : 3);
}

TEST(CountersProcessTest, AddsOfAnotherProcessCostNoTermAndNoRequestASecond) {
  const Adder adder;
  ASSERT_TRUE(adder.await());
  const auto hub = Hub::open(adder.url()).value();
  CoordinatorOptions options;
  options.startup_jitter_max = Duration(0);
  const auto coordinator = hub->coordinator("default", options).value();
  std::promise<void> began;
  std::atomic<int> terms = 0;
  std::atomic<int> troubles = 0;
  coordinator->on_event([&](const CoordinatorEvent& event) {
    if (std::holds_alternative<TermBeganEvent>(event) && ++terms == 1) began.set_value();
    if (std::holds_alternative<TroubleEvent>(event)) ++troubles;
  });
  coordinator->start();
  ASSERT_EQ(began.get_future().wait_for(20s), std::future_status::ready);
  // The requests of an election go through the same queue and the same lock as these.
  Duration longest{0};
  for (const MonoTime end = boot_now() + how_long(); boot_now() < end;) {
    const MonoTime start = boot_now();
    ASSERT_TRUE(hub->store().put("beside", "x", {}).ok());
    longest = std::max<Duration>(longest, boot_now() - start);
  }
  EXPECT_LT(longest, 1s);
  EXPECT_TRUE(coordinator->is_leader());
  EXPECT_EQ(terms, 1);
  EXPECT_EQ(troubles, 0);
  std::cout << "longest wait " << format_duration(longest) << "\n";
  coordinator->stop();
}

}  // namespace counters_process_test
}  // namespace muster
