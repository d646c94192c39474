// The replicated log on each real store: several replicas, each with a connection of its own.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "log/inspect.h"
#include "log/log_test_world.h"
#include "log/move.h"
#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "store/open/open.h"
#include "store/probe.h"
#include "tests/coordinator/stores.h"
#include "tests/support/test_store.h"

namespace muster::rlog {
namespace log_stores_test {

TestStore::Open opener(const std::string& url) {
  return [url](EventLoop& loop) {
    auto store = open_store(url, loop, {});
    MUSTER_CHECK(store.ok());
    return std::move(*store);
  };
}

/// Every process does so before it begins.
void probe(TestStore& store) {
  Random random = system_random();
  const Status verdict = store.await<Done>([&](Callback<Done> done) {
    probe_store(store.store(), store.thread().loop(), random, 5s, std::move(done));
  });
  MUSTER_CHECK(verdict.ok());
}

/// A replica on a thread of its own. Everything of it is touched on that thread only.
class RealReplica {
 public:
  explicit RealReplica(const std::string& url) : store_(thread_, opener(url)) {
    probe(store_);
    thread_.run([this] {
      Options options;
      options.prefix = "log-test/";
      options.create = true;
      options.poll_interval = 50ms;
      machine_.part_bytes = 4096;
      log_ = std::make_unique<ReplicatedLog>(
          options, Surroundings{thread_.loop(), store_.store(), system_random(), machine_, {}});
    });
  }
  ~RealReplica() {
    thread_.run([this] { log_.reset(); });
  }
  RealReplica(const RealReplica&) = delete;
  RealReplica& operator=(const RealReplica&) = delete;

  template <typename T>
  Result<T> await(const std::function<void(ReplicatedLog&, Callback<T>)>& call) {
    store_.patience = 30s;
    return store_.await<T>([&](Callback<T> done) { call(*log_, std::move(done)); });
  }
  Status open() {
    return await<Done>([](ReplicatedLog& log, Callback<Done> done) { log.open(std::move(done)); });
  }
  Status lead(std::uint64_t epoch) {
    return await<Done>([&](ReplicatedLog& log, Callback<Done> done) {
      log.lead(Epoch(epoch), Incarnation("run-" + std::to_string(epoch)), std::move(done));
    });
  }
  Result<Ack> append(const std::string& command) {
    return await<Ack>(
        [&](ReplicatedLog& log, Callback<Ack> done) { log.append(command, std::move(done)); });
  }
  /// All at once; the last one's answer.
  Result<Ack> append_many(const std::string& name, int count) {
    return await<Ack>([&](ReplicatedLog& log, Callback<Ack> done) {
      for (int i = 0; i + 1 < count; ++i) {
        log.append(name + std::to_string(i), [](const Result<Ack>& ack) { EXPECT_TRUE(ack.ok()); });
      }
      log.append(name + std::to_string(count - 1), std::move(done));
    });
  }
  Result<Index> barrier() {
    return await<Index>(
        [](ReplicatedLog& log, Callback<Index> done) { log.read_barrier(std::move(done)); });
  }
  Result<Index> compact() {
    return await<Index>(
        [](ReplicatedLog& log, Callback<Index> done) { log.compact(std::move(done)); });
  }
  Result<Index> seal(const std::string& move_id) {
    return await<Index>([&](ReplicatedLog& log, Callback<Index> done) {
      log.seal({move_id, "elsewhere"}, std::move(done));
    });
  }
  std::vector<std::string> commands() {
    std::vector<std::string> copy;
    thread_.run([&] { copy = machine_.commands; });
    return copy;
  }

  [[nodiscard]] TestStore& store() { return store_; }

 private:
  LoopThread thread_;
  TestStore store_;
  CommandList machine_;
  std::unique_ptr<ReplicatedLog> log_;
};

class LogOnStoreTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string url_ = fresh_store(GetParam());
};

TEST_P(LogOnStoreTest, ReplicasAgreeAcrossLeadersAndCompactions) {
  RealReplica first(url_);
  RealReplica second(url_);
  ASSERT_TRUE(first.open().ok());
  ASSERT_TRUE(second.open().ok());
  ASSERT_TRUE(first.lead(1).ok());
  ASSERT_TRUE(first.append_many("a", 500).ok());
  ASSERT_TRUE(second.barrier().ok());
  EXPECT_EQ(second.commands().size(), 500U);
  ASSERT_TRUE(first.compact().ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(first.append("b" + std::to_string(i)).ok());

  ASSERT_TRUE(second.lead(2).ok());
  const auto late = first.append("late");
  EXPECT_FALSE(late.ok());
  EXPECT_FALSE(late.is(Errc::kAmbiguous));
  ASSERT_TRUE(second.append_many("c", 100).ok());
  ASSERT_TRUE(second.compact().ok());
  ASSERT_TRUE(second.append("d").ok());
  ASSERT_TRUE(second.compact().ok());
  ASSERT_TRUE(first.barrier().ok());
  EXPECT_EQ(first.commands(), second.commands());
  EXPECT_EQ(first.commands().size(), 611U);

  RealReplica third(url_);
  ASSERT_TRUE(third.open().ok());
  EXPECT_EQ(third.commands(), second.commands());

  std::unique_ptr<Inspect> inspect;
  TestStore& store = third.store();
  const auto found = store.await<Inspection>([&](Callback<Inspection> done) {
    inspect = std::make_unique<Inspect>(store.thread().loop(), system_random(),
                                        Place{store.store(), "log-test/"});
    inspect->start(std::move(done));
  });
  store.thread().run([&] { inspect.reset(); });
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->findings.empty());
}

TEST_P(LogOnStoreTest, MovesToAnotherStore) {
  const std::string there = fresh_store(GetParam());
  RealReplica leader(url_);
  ASSERT_TRUE(leader.open().ok());
  ASSERT_TRUE(leader.lead(1).ok());
  ASSERT_TRUE(leader.append_many("a", 50).ok());
  ASSERT_TRUE(leader.compact().ok());
  ASSERT_TRUE(leader.append("b").ok());
  {
    TestStore& source = leader.store();
    TestStore target(source.thread(), opener(there));
    probe(target);
    std::unique_ptr<Move> move;
    ASSERT_TRUE(source
                    .await<Done>([&](Callback<Done> done) {
                      move = std::make_unique<Move>(source.thread().loop(), system_random(),
                                                    Place{source.store(), "log-test/"},
                                                    Place{target.store(), "log-test/"}, "m");
                      move->prepare(std::move(done));
                    })
                    .ok());
    ASSERT_TRUE(leader.seal("m").ok());
    ASSERT_TRUE(
        source.await<Done>([&](Callback<Done> done) { move->finish(std::move(done)); }).ok());
    source.thread().run([&] { move.reset(); });
  }
  RealReplica moved(there);
  ASSERT_TRUE(moved.open().ok());
  EXPECT_EQ(moved.commands(), leader.commands());
  ASSERT_TRUE(moved.lead(2).ok());
  ASSERT_TRUE(moved.append("c").ok());
  EXPECT_EQ(moved.commands().size(), 52U);
}

INSTANTIATE_TEST_SUITE_P(Stores, LogOnStoreTest, ::testing::ValuesIn(store_kinds()),
                         [](const auto& kind) { return kind.param; });

}  // namespace log_stores_test
}  // namespace muster::rlog
