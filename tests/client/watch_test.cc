#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <thread>

#include "client/topology_watch.h"
#include "tests/support/scripted_coordinator.h"

namespace muster::client {
namespace watch_test {

using testing::ElementsAre;

v1::TopologyUpdate added(std::uint64_t version, const std::string& id) {
  v1::TopologyUpdate update;
  update.set_version(version);
  update.set_previous_version(version - 1);
  update.mutable_node_added()->set_id(id);
  update.mutable_node_added()->set_state(v1::NODE_STATE_ACTIVE);
  update.mutable_node_added()->set_weight(1);
  return update;
}

v1::TopologyUpdate sync(std::uint64_t version) {
  v1::TopologyUpdate update;
  update.set_version(version);
  update.mutable_full_sync()->set_version(version);
  return update;
}

/// The events of a watch, in words, for another thread to wait for.
class EventLog {
 public:
  WatchCallback callback() {
    return [this](const WatchEvent& event, TopologyVersion version) {
      const MutexLock lock(mutex_);
      words_.push_back(std::string(to_string(event.kind)) + " " + std::to_string(version.value()));
      ready_.notify_all();
    };
  }
  std::vector<std::string> next(std::size_t count) {
    MutexLock lock(mutex_);
    while (words_.size() < count) lock.wait(ready_);
    std::vector<std::string> words(words_.begin(), words_.begin() + static_cast<long>(count));
    words_.erase(words_.begin(), words_.begin() + static_cast<long>(count));
    return words;
  }

 private:
  Mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::string> words_ MUSTER_GUARDED_BY(mutex_);
};

TEST(TopologyWatchTest, GoesOnWhereItStoodOverServersThatBreakOff) {
  std::atomic<int> streams = 0;
  EventLog log;
  ScriptedCoordinator server;
  server.watch = [&](auto& context, const auto& request, auto& writer) {
    switch (++streams) {
      case 1:
        EXPECT_EQ(request.since_version(), 0U);
        writer.Write(sync(4));
        writer.Write(added(5, "a"));
        return grpc::Status::OK;
      case 2:
        EXPECT_EQ(request.since_version(), 5U);
        writer.Write(added(6, "b"));
        return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going down");
      case 3:  // A gap: what follows 6 is not 8.
        EXPECT_EQ(request.since_version(), 6U);
        writer.Write(added(8, "d"));
        ScriptedCoordinator::stay(context);
        return grpc::Status::OK;
      default:
        EXPECT_EQ(request.since_version(), 0U);
        writer.Write(sync(8));
        ScriptedCoordinator::stay(context);
        return grpc::Status::OK;
    }
  };
  server.start();
  const auto client = CoordinatorClient::connect(server.address());
  ASSERT_TRUE(client);
  const auto watch = watch_topology_with_recovery(**client, {}, log.callback());
  ASSERT_TRUE(watch);
  EXPECT_THAT(log.next(6), ElementsAre("snapshot 4", "node_added 5", "disconnected 5",
                                       "node_added 6", "disconnected 6", "snapshot 8"));
}

TEST(TopologyWatchTest, SilenceIsNotWaitedOutForEver) {
  std::atomic<int> streams = 0;
  EventLog log;
  ScriptedCoordinator server;
  server.watch = [&](auto& context, const auto&, auto& writer) {
    if (++streams > 1) writer.Write(sync(4));
    ScriptedCoordinator::stay(context);
    return grpc::Status::OK;
  };
  server.start();
  const auto client = CoordinatorClient::connect(server.address());
  ASSERT_TRUE(client);
  WatchConfig config;
  config.first_message_max = 100ms;
  const auto watch = watch_topology_with_recovery(**client, config, log.callback());
  ASSERT_TRUE(watch);
  EXPECT_THAT(log.next(2), ElementsAre("disconnected 0", "snapshot 4"));
  EXPECT_TRUE((*watch)->wait_for_topology(0s));
}

TEST(TopologyWatchTest, ReadersOnManyThreadsSeeWholeVersions) {
  constexpr std::uint64_t kVersions = 2000;
  ScriptedCoordinator server;
  server.watch = [&](auto& context, const auto&, auto& writer) {
    writer.Write(sync(0));
    for (std::uint64_t version = 1; version <= kVersions; ++version) {
      writer.Write(added(version, "n" + std::to_string(version)));
    }
    ScriptedCoordinator::stay(context);
    return grpc::Status::OK;
  };
  server.start();
  const auto client = CoordinatorClient::connect(server.address());
  ASSERT_TRUE(client);
  const auto watch = watch_topology_with_recovery(**client, {}, {});
  ASSERT_TRUE(watch);
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      TopologyReader reader = (*watch)->reader();
      std::uint64_t last = 0;
      while (last < kVersions) {
        const TopologyView& view = reader.get();
        // Every version added one node, and every node is in the ring.
        EXPECT_EQ(view.size(), view.version().value());
        EXPECT_EQ(view.owners("key").empty(), view.size() == 0);
        EXPECT_GE(view.version().value(), last);
        last = view.version().value();
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ((*watch)->view()->version(), TopologyVersion(kVersions));
}

TEST(TopologyWatchTest, MayBeDestroyedByItsOwnCallback) {
  std::promise<void> destroyed;
  ScriptedCoordinator server;
  server.watch = [&](auto& context, const auto&, auto& writer) {
    writer.Write(sync(1));
    writer.Write(added(2, "a"));
    ScriptedCoordinator::stay(context);
    return grpc::Status::OK;
  };
  server.start();
  const auto client = CoordinatorClient::connect(server.address());
  ASSERT_TRUE(client);
  std::unique_ptr<TopologyWatch> watch;
  std::promise<void> stored;
  std::shared_future<void> is_stored(stored.get_future());
  watch =
      *watch_topology_with_recovery(**client, {}, [&](const WatchEvent&, TopologyVersion version) {
        if (version != TopologyVersion(1)) return;
        is_stored.wait();
        watch.reset();
        destroyed.set_value();
      });
  stored.set_value();
  destroyed.get_future().wait();
}

}  // namespace watch_test
}  // namespace muster::client
