#pragma once

#include <muster/store.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace muster::api {

/// The threads that call a program's store, which may block for as long as it likes.
///
/// The destructor drops the jobs that wait and gives the running ones 5 s to return. Threads that
/// are still blocked then are left behind: they own what they use, and the store with them.
/// Threads: one.
class StoreWorkers {
 public:
  using JobId = std::uint64_t;
  using Job = std::function<void(api_v1::Store&)>;

  StoreWorkers(std::shared_ptr<api_v1::Store> store, int threads);
  ~StoreWorkers();
  StoreWorkers(const StoreWorkers&) = delete;
  StoreWorkers& operator=(const StoreWorkers&) = delete;

  /// Returns nothing, and drops the job, if too many jobs wait. A job must not throw.
  [[nodiscard]] std::optional<JobId> submit(Job job);
  /// True if the job had not begun; then it will not run.
  [[nodiscard]] bool withdraw(JobId id);

 private:
  struct Queued {
    JobId id;
    Job job;
  };
  struct State {
    std::shared_ptr<api_v1::Store> store;  ///< The last thread that ends releases it.
    Mutex mutex;
    std::condition_variable some;
    std::condition_variable fewer;
    std::deque<Queued> queue MUSTER_GUARDED_BY(mutex);
    bool stopping MUSTER_GUARDED_BY(mutex) = false;
    int running MUSTER_GUARDED_BY(mutex) = 0;  ///< Threads that have not ended.
  };

  static void run(const std::shared_ptr<State>& state);
  [[nodiscard]] static std::optional<Queued> take(State& state);

  std::shared_ptr<State> state_;
  JobId next_id_ = 1;
  std::vector<std::thread> threads_;
};

}  // namespace muster::api
