#include "client/published.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace muster::client {
namespace published_test {

/// Counts how many of it there are; its two halves must never differ.
struct Value {
  Value(int number, std::atomic<int>& count) : a(number), b(number), alive(count) { ++alive; }
  ~Value() {
    a = -1;
    --alive;
  }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  int a;
  int b;
  std::atomic<int>& alive;
};

TEST(PublishedTest, AReaderSeesTheNewestAndKeepsWhatItLooksAt) {
  std::atomic<int> alive = 0;
  {
    Published<Value> published(std::make_shared<Value>(1, alive));
    auto reader = published.reader();
    const Value& first = reader.get();
    for (int i = 2; i < 100; ++i) published.set(std::make_shared<Value>(i, alive));
    EXPECT_EQ(first.a, 1);
    EXPECT_EQ(alive, 2) << "the newest and the one that is looked at";
    EXPECT_EQ(reader.get().a, 99);
    published.set(std::make_shared<Value>(100, alive));
    EXPECT_EQ(alive, 2);
    EXPECT_EQ(published.snapshot()->a, 100);
  }
  EXPECT_EQ(alive, 0);
}

TEST(PublishedTest, AReaderMayOutliveThePublisher) {
  std::atomic<int> alive = 0;
  auto published = std::make_unique<Published<Value>>(std::make_shared<Value>(1, alive));
  {
    auto reader = published->reader();
    auto moved = std::move(reader);
    published.reset();
    EXPECT_EQ(moved.get().a, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(PublishedTest, ManyThreadsNeverSeeAFreedValue) {
  constexpr int kValues = 20'000;
  std::atomic<int> alive = 0;
  {
    Published<Value> published(std::make_shared<Value>(0, alive));
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; ++i) {
      readers.emplace_back([&] {
        auto reader = published.reader();
        int last = 0;
        while (last < kValues) {
          const Value& value = reader.get();
          ASSERT_EQ(value.a, value.b);
          ASSERT_GE(value.a, last);
          last = value.a;
        }
      });
    }
    for (int i = 1; i <= kValues; ++i) published.set(std::make_shared<Value>(i, alive));
    for (std::thread& reader : readers) reader.join();
    EXPECT_LE(alive, 6);
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace published_test
}  // namespace muster::client
