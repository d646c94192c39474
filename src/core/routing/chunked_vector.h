#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"

namespace muster {

/// A vector whose copies share what they have in common: a copy costs a pointer for every `kChunk`
/// elements, and a change afterwards one chunk. So each version of a large table can be kept by
/// its readers. Reading copies of one table is for any number of threads; changing one
/// of them is for one thread and invisible to the others.
template <typename T, std::size_t kChunk = 32>
class ChunkedVector {
 public:
  ChunkedVector() = default;
  explicit ChunkedVector(std::vector<T> values) : size_(values.size()) {
    for (std::size_t first = 0; first < size_; first += kChunk) {
      auto chunk = std::make_shared<Chunk>();
      for (std::size_t i = first; i < size_ && i < first + kChunk; ++i) {
        (*chunk)[i - first] = std::move(values[i]);
      }
      chunks_.push_back(std::move(chunk));
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const T& operator[](std::size_t i) const {
    return (*chunks_[i / kChunk])[i % kChunk];
  }

  void set(std::size_t i, T value) {
    MUSTER_CHECK(i < size_);
    auto chunk = std::make_shared<Chunk>(*chunks_[i / kChunk]);
    (*chunk)[i % kChunk] = std::move(value);
    chunks_[i / kChunk] = std::move(chunk);
  }

  void push_back(T value) {
    if (size_ % kChunk == 0) chunks_.push_back(std::make_shared<Chunk>());
    ++size_;
    set(size_ - 1, std::move(value));
  }

 private:
  using Chunk = std::array<T, kChunk>;
  std::vector<std::shared_ptr<const Chunk>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace muster
