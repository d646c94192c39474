#include "api/store_workers.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/log.h"
#include "platform/system_clock.h"

namespace muster::api {
namespace {

// A caller bounds itself by waiting for answers; past this it is told kThrottled.
constexpr std::size_t kStoreJobsMax = 4096;
constexpr Duration kReturnMax = 5s;

}  // namespace

StoreWorkers::StoreWorkers(std::shared_ptr<api_v1::Store> store, int threads)
    : state_(std::make_shared<State>()) {
  state_->store = std::move(store);
  {
    MutexLock lock(state_->mutex);
    state_->running = threads;
  }
  for (int i = 0; i < threads; ++i) threads_.emplace_back([state = state_] { run(state); });
}

StoreWorkers::~StoreWorkers() {
  bool ended = false;
  {
    MutexLock lock(state_->mutex);
    state_->stopping = true;
    state_->queue.clear();
    state_->some.notify_all();
    const MonoTime until = boot_now() + kReturnMax;
    for (MonoTime now = boot_now(); state_->running > 0 && now < until; now = boot_now())
      lock.wait_for(state_->fewer, until - now);
    ended = state_->running == 0;
  }
  if (!ended) log_warn("calls of a store have not returned; their threads are left behind");
  for (std::thread& thread : threads_) {
    if (ended) {
      thread.join();
    } else {
      thread.detach();
    }
  }
}

std::optional<StoreWorkers::JobId> StoreWorkers::submit(Job job) {
  const MutexLock lock(state_->mutex);
  if (state_->queue.size() >= kStoreJobsMax) return {};
  state_->queue.push_back({next_id_, std::move(job)});
  state_->some.notify_one();
  return next_id_++;
}

bool StoreWorkers::withdraw(JobId id) {
  const MutexLock lock(state_->mutex);
  const auto found = std::find_if(state_->queue.begin(), state_->queue.end(),
                                  [id](const Queued& queued) { return queued.id == id; });
  if (found == state_->queue.end()) return false;
  state_->queue.erase(found);
  return true;
}

std::optional<StoreWorkers::Queued> StoreWorkers::take(State& state) {
  MutexLock lock(state.mutex);
  while (!state.stopping && state.queue.empty()) lock.wait(state.some);
  if (state.stopping) return {};
  Queued first = std::move(state.queue.front());
  state.queue.pop_front();
  return first;
}

void StoreWorkers::run(const std::shared_ptr<State>& state) {
  while (const auto next = take(*state)) next->job(*state->store);
  const MutexLock lock(state->mutex);
  --state->running;
  state->fewer.notify_all();
}

}  // namespace muster::api
