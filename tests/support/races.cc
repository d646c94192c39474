#include "tests/support/races.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/text.h"
#include "platform/system_clock.h"
#include "tests/support/cas_list.h"
#include "tests/support/child_process.h"
#include "tests/support/store_conformance.h"

namespace muster {
namespace {

constexpr int kProcesses = 16;
constexpr int kAppends = 50;
constexpr int kCreators = 32;
constexpr int kThreads = 4;

std::string worker_program() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cas_worker").string();
}

/// What became of one round of creators.
struct Round {
  explicit Round(int creators) : left(creators) {}
  std::atomic<int> left;
  std::atomic<int> wins{0};
  std::atomic<int> unsettled{0};
  std::atomic<int> other{0};
  std::promise<void> over;
};

void create_at_once(const std::vector<std::unique_ptr<TestStore>>& stores, const Key& key,
                    Round& round) {
  for (std::size_t i = 0; i < stores.size(); ++i) {
    TestStore& store = *stores[i];
    store.thread().loop().post([&store, &key, &round, i] {
      store.store().put(key, "creator " + std::to_string(i), Precondition::absent(),
                        store.deadline(), [&round](const Result<Revision>& made) {
                          if (made)
                            ++round.wins;
                          else if (made.is(Errc::kAmbiguous))
                            ++round.unsettled;
                          else if (!made.is(Errc::kConflict))
                            ++round.other;
                          if (--round.left == 0) round.over.set_value();
                        });
    });
  }
  round.over.get_future().wait();
}

}  // namespace

void expect_no_lost_swap(TestStore& store, const std::function<std::string(int)>& url,
                         const std::function<void()>& meanwhile) {
  const Key key = "swaps/" + system_random().uuid();
  ASSERT_TRUE(store.put(key, "start", Precondition::absent()));
  std::vector<std::unique_ptr<ChildProcess>> workers;
  for (int i = 0; i < kProcesses; ++i) {
    workers.push_back(std::make_unique<ChildProcess>(std::vector<std::string>{
        worker_program(), url(i), key, "w" + std::to_string(i), std::to_string(kAppends)}));
  }
  // What happens meanwhile happens while they write: it begins after the first confirmed write.
  std::string line = workers.front()->read_line();
  meanwhile();
  std::map<std::string, std::string> used;  // By predecessor.
  for (const auto& worker : workers) {
    if (worker != workers.front()) line = worker->read_line();
    for (; !line.empty(); line = worker->read_line()) {
      const auto words = split(line, ' ');
      ASSERT_EQ(words.size(), 2u) << line;
      const auto [earlier, first] = used.emplace(words[0], words[1]);
      EXPECT_TRUE(first) << words[1] << " and " << earlier->second << " replaced the same revision";
    }
    EXPECT_EQ(worker->finish(), 0);
  }
  const auto read = store.get(key);
  ASSERT_TRUE(read) << read.error().message;
  const auto entries = list_entries(read->body);
  EXPECT_EQ(entries.size(), std::size_t{kProcesses * kAppends + 1});
  EXPECT_EQ(std::set<std::string>(entries.begin(), entries.end()).size(), entries.size());
  EXPECT_EQ(used.size(), std::size_t{kProcesses * kAppends});
}

void expect_one_creator(const std::function<std::string(int)>& url, int rounds) {
  std::vector<std::unique_ptr<LoopThread>> threads;
  for (int i = 0; i < kThreads; ++i) threads.push_back(std::make_unique<LoopThread>());
  std::vector<std::unique_ptr<TestStore>> stores;
  for (int i = 0; i < kCreators; ++i) {
    LoopThread& thread = *threads[static_cast<std::size_t>(i % kThreads)];
    stores.push_back(std::make_unique<TestStore>(thread, open_url(url(i))));
  }
  const std::string folder = "creators/" + system_random().uuid() + "/";
  for (int i = 0; i < rounds; ++i) {
    const Key key = folder + std::to_string(i);
    Round round(kCreators);
    create_at_once(stores, key, round);
    EXPECT_EQ(round.other, 0);
    EXPECT_LE(round.wins, 1);
    // A winner whose reply was lost has still won: the object is there once.
    EXPECT_TRUE(round.wins == 1 || round.unsettled > 0);
    EXPECT_TRUE(stores[0]->get(key));
  }
  // Stores end before the loops they live on.
  stores.clear();
}

}  // namespace muster
