#include "base/short_queue.h"

#include <gtest/gtest.h>

#include <memory>

namespace muster {
namespace short_queue_test {

TEST(ShortQueueTest, WhatGoesInComesOutInOrder) {
  ShortQueue<std::unique_ptr<int>> queue;
  int in = 0;
  int out = 0;
  // Now longer, now shorter, and empty in between.
  for (const int length : {1, 5, 100, 3, 1000, 0, 40}) {
    while (in - out < length) queue.push_back(std::make_unique<int>(in++));
    ASSERT_EQ(queue.size(), static_cast<std::size_t>(in - out));
    if (in - out > 2) {
      EXPECT_EQ(*queue[2], out + 2);
    }
    while (in - out > length / 2) {
      ASSERT_EQ(*queue.front(), out++);
      queue.pop_front();
    }
  }
  while (!queue.empty()) {
    ASSERT_EQ(*queue.front(), out++);
    queue.pop_front();
  }
  EXPECT_EQ(in, out);
}

TEST(ShortQueueTest, HoldsLittle) {
  ShortQueue<int> queue;
  EXPECT_EQ(queue.capacity(), 0u);
  // One that is never empty does not grow for ever.
  queue.push_back(0);
  for (int i = 0; i < 10'000; ++i) {
    queue.push_back(i);
    queue.pop_front();
  }
  EXPECT_LE(queue.capacity(), 8u);
  for (int i = 0; i < 1000; ++i) queue.push_back(i);
  while (!queue.empty()) queue.pop_front();
  EXPECT_LE(queue.capacity(), 8u);
}

}  // namespace short_queue_test
}  // namespace muster
