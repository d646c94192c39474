#pragma once

#include "tests/support/child_process.h"
#include "tests/support/etcd_cluster.h"
// The internal headers come first: with the public names in sight their own would be ambiguous.
#include <muster/leader.h>
#include <muster/log.h>

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// For tests of the public API.
namespace api_test {

using namespace std::chrono_literals;
using muster::Arbiter;
using muster::Code;
using muster::Leader;
using muster::LeaderOptions;
using muster::Leadership;
using muster::TempDir;
using muster::Term;
using muster::testing::EtcdCluster;

inline constexpr auto kSoon = 20s;

inline LeaderOptions options_of(const std::string& id, std::chrono::nanoseconds lease = 2s) {
  LeaderOptions options;
  options.id = id;
  options.lease = lease;
  return options;
}

inline std::string url_of(const TempDir& dir) {
  return "file://" + dir.path().string() + "?sync=off";
}

/// Waits until `stop` is requested; false if that takes too long.
inline bool wait_for(const std::stop_token& stop, std::chrono::nanoseconds at_most = kSoon) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, at_most, [] { return false; });
  return stop.stop_requested();
}

inline std::size_t threads() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// A thread that was joined is still listed for a moment.
inline bool threads_fall_to(std::size_t most) {
  for (int looks = 0; looks < 1'000'000; ++looks) {
    if (threads() <= most) return true;
    std::this_thread::yield();
  }
  return false;
}

/// What callbacks said, in order, for another thread to wait for.
template <typename T>
class Heard {
 public:
  void add(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    more_.notify_all();
  }
  /// The first value that `wanted` accepts.
  template <typename Wanted>
  std::optional<T> wait_for(Wanted wanted) {
    std::unique_lock lock(mutex_);
    std::optional<T> found;
    more_.wait_for(lock, kSoon, [&] {
      for (const T& value : values_) {
        if (wanted(value)) found = value;
      }
      return found.has_value();
    });
    return found;
  }
  std::vector<T> all() {
    const std::lock_guard lock(mutex_);
    return values_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<T> values_;
};

}  // namespace api_test
