#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace muster::client {

/// A value that one thread replaces now and then and many read all the time.
///
/// Reading takes no lock and never waits: while the value stays the same it costs one load. A
/// reader pins the value that it reads (a hazard pointer). The next replacement that finds an old
/// value unpinned frees it, so at most one old value is kept for each reader.
template <typename T>
class Published {
  struct Pin {
    std::atomic<const T*> value{nullptr};
  };

  /// Shared with the readers, which may outlive the publisher.
  struct State {
    std::atomic<const T*> current{nullptr};
    Mutex mutex;
    std::shared_ptr<const T> owner MUSTER_GUARDED_BY(mutex);
    std::vector<std::shared_ptr<const T>> replaced MUSTER_GUARDED_BY(mutex);
    std::vector<std::shared_ptr<Pin>> pins MUSTER_GUARDED_BY(mutex);
  };

 public:
  /// One thread's view of the value. Made and destroyed under a short lock.
  class Reader {
   public:
    explicit Reader(std::shared_ptr<State> state)
        : state_(std::move(state)), pin_(std::make_shared<Pin>()) {
      const MutexLock lock(state_->mutex);
      state_->pins.push_back(pin_);
    }
    ~Reader() {
      if (pin_ == nullptr) return;
      const MutexLock lock(state_->mutex);
      std::erase(state_->pins, pin_);
    }
    Reader(Reader&&) noexcept = default;
    Reader& operator=(Reader&&) = delete;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    /// The current value. Valid until the next get() of this reader, or its end.
    [[nodiscard]] const T& get() {
      const T* seen = state_->current.load(std::memory_order_seq_cst);
      // A pinned value stays pinned: most of the time there is nothing to do.
      while (seen != pin_->value.load(std::memory_order_relaxed)) {
        pin_->value.store(seen, std::memory_order_seq_cst);
        // Replaced meanwhile, perhaps before the pin was seen: try again with the newer one.
        seen = state_->current.load(std::memory_order_seq_cst);
      }
      return *seen;
    }

   private:
    std::shared_ptr<State> state_;
    std::shared_ptr<Pin> pin_;
  };

  explicit Published(std::shared_ptr<const T> value) : state_(std::make_shared<State>()) {
    set(std::move(value));
  }

  /// Threads: one at a time.
  void set(std::shared_ptr<const T> value) {
    const MutexLock lock(state_->mutex);
    state_->current.store(value.get(), std::memory_order_seq_cst);
    if (state_->owner != nullptr) state_->replaced.push_back(std::move(state_->owner));
    state_->owner = std::move(value);
    const auto pinned = [pins = &state_->pins](const std::shared_ptr<const T>& old) {
      return std::any_of(pins->begin(), pins->end(), [&](const std::shared_ptr<Pin>& pin) {
        return pin->value.load(std::memory_order_seq_cst) == old.get();
      });
    };
    std::erase_if(state_->replaced, [&](const auto& old) { return !pinned(old); });
  }

  /// A copy to keep. Takes a short lock. Any thread.
  [[nodiscard]] std::shared_ptr<const T> snapshot() const {
    const MutexLock lock(state_->mutex);
    return state_->owner;
  }
  [[nodiscard]] Reader reader() const { return Reader(state_); }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace muster::client
