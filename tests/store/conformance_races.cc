// Several writers at once: one wins, nothing is lost.
#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/cas_list.h"
#include "tests/support/store_conformance.h"

namespace muster {
namespace {

/// Runs `work(handle, index)` for each handle, on threads of their own.
void for_each_handle(const std::vector<TestStore*>& handles,
                     const std::function<void(TestStore&, std::size_t)>& work) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < handles.size(); ++i)
    threads.emplace_back([&, i] { work(*handles[i], i); });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(StoreConformance, OfManyCreatorsExactlyOneWins) {
  std::vector<TestStore*> handles = {&store(), &other()};
  while (handles.size() < 8) handles.push_back(&open_handle());
  for (int round = 0; round < 10; ++round) {
    const Key key = "round/" + std::to_string(round);
    std::atomic<int> told_ok{0};
    std::atomic<int> unsettled{0};
    for_each_handle(handles, [&](TestStore& handle, std::size_t i) {
      const auto made = handle.put(key, std::to_string(i), Precondition::absent());
      if (made) {
        ++told_ok;
      } else if (made.is(Errc::kAmbiguous)) {
        ++unsettled;
      } else {
        EXPECT_TRUE(made.is(Errc::kConflict)) << made.error().message;
      }
    });
    EXPECT_TRUE(store().get(key));
    EXPECT_LE(told_ok, 1);
    EXPECT_TRUE(told_ok == 1 || unsettled > 0);
  }
}

TEST_P(StoreConformance, NoCompareAndSwapIsLost) {
  constexpr int kEach = 15;
  std::vector<TestStore*> handles = {&store(), &other(), &open_handle(), &open_handle()};
  ASSERT_TRUE(store().put("list", "start", Precondition::absent()));
  const Deadline give_up = store().thread().loop().now() + 60s;
  for_each_handle(handles, [&](TestStore& handle, std::size_t writer) {
    for (int i = 0; i < kEach; ++i) {
      const std::string entry = std::to_string(writer) + "." + std::to_string(i);
      const auto step = append_by_cas(handle, "list", entry, give_up);
      ASSERT_TRUE(step) << step.error().message;
    }
  });
  const auto entries = list_entries(store().get("list")->body);
  EXPECT_EQ(entries.size(), handles.size() * kEach + 1);
  EXPECT_EQ(std::set<std::string>(entries.begin(), entries.end()).size(), entries.size());
}

// Calls of one handle that are in flight together race as those of two would.
TEST_P(StoreConformance, OneHandlesConcurrentWritesAtARevisionHaveOneWinner) {
  const Revision revision = create("key");
  auto wins = std::make_shared<int>(0);
  auto unsettled = std::make_shared<int>(0);
  const auto answered = store().await<Done>([&](Callback<Done> done) {
    auto left = std::make_shared<int>(16);
    for (int i = 0; i < 16; ++i) {
      store().store().put("key", "racer " + std::to_string(i), Precondition::at(revision),
                          store().deadline(), [=](const Result<Revision>& written) {
                            *wins += written.ok();
                            *unsettled += written.is(Errc::kAmbiguous);
                            if (--*left == 0) done(Done{});
                          });
    }
  });
  ASSERT_TRUE(answered) << answered.error().message;
  EXPECT_NE(store().get("key")->revision, revision);
  EXPECT_LE(*wins, 1);
  EXPECT_TRUE(*wins == 1 || *unsettled > 0);
}

}  // namespace
}  // namespace muster
