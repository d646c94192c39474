#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace muster {

/// A queue that is usually short. It allocates no memory before its first use, and a long queue
/// returns its memory when it becomes empty. (A std::deque allocates half a kilobyte at once, which
/// matters with thousands of connections.) Threads: one.
template <typename T>
class ShortQueue {
 public:
  [[nodiscard]] bool empty() const { return first_ == items_.size(); }
  [[nodiscard]] std::size_t size() const { return items_.size() - first_; }
  [[nodiscard]] T& front() { return items_[first_]; }
  [[nodiscard]] const T& front() const { return items_[first_]; }
  [[nodiscard]] T& operator[](std::size_t i) { return items_[first_ + i]; }

  void push_back(T item) {
    // Makes room when half of the elements held are no longer in use.
    if (first_ > 0 && items_.size() == items_.capacity() && 2 * first_ >= items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    items_.push_back(std::move(item));
  }
  void pop_front() {
    items_[first_++] = T();
    if (empty()) clear();
  }
  void clear() {
    first_ = 0;
    if (items_.capacity() > kKept) {
      items_ = std::vector<T>();  // Braces alone would keep the memory.
    } else {
      items_.clear();
    }
  }
  [[nodiscard]] std::size_t capacity() const { return items_.capacity(); }

 private:
  static constexpr std::size_t kKept = 8;
  std::vector<T> items_;
  std::size_t first_ = 0;  ///< Elements before this index have been removed.
};

}  // namespace muster
