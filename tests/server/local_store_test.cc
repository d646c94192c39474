// The store that a server uses itself: the suite that every store must pass, on each of three
// servers, and what a change of the leader means for a call.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "tests/server/server_fleet.h"
#include "tests/support/store_conformance.h"
#include "tests/support/watch_log.h"

namespace muster {
namespace local_store_test {

using muster::testing::ServerFleet;

/// A handle: the store of one server, which lives as long as a handle of its fleet does.
class Borrowed final : public ObjectStore {
 public:
  Borrowed(std::shared_ptr<ServerFleet> fleet, int server)
      : fleet_(std::move(fleet)), store_(fleet_->new_store(server)) {}

  Capabilities capabilities() const override { return store_->capabilities(); }
  std::string describe() const override { return store_->describe(); }
  std::uint64_t history() const override { return store_->history(); }
  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override {
    store_->get(std::move(key), std::move(unless), by, std::move(done));
  }
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override {
    store_->put(std::move(key), std::move(body), std::move(when), by, std::move(done));
  }
  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override {
    store_->guarded_put(std::move(key), std::move(body), std::move(when), std::move(guard), by,
                        std::move(done));
  }
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override {
    store_->remove(std::move(key), std::move(when), by, std::move(done));
  }
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override {
    store_->list(std::move(prefix), std::move(from), by, std::move(done));
  }
  std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                               std::function<void(const WatchEvent&)> on_event) override {
    return store_->watch(std::move(prefix), std::move(cursor), std::move(on_event));
  }

 private:
  std::shared_ptr<ServerFleet> fleet_;
  std::unique_ptr<ObjectStore> store_;
};

/// Each handle of a scope is another server's; the first server leads first.
StoreFactory servers(int first) {
  struct Scope {
    std::weak_ptr<ServerFleet> fleet;
    int handles = 0;
  };
  auto scopes = std::make_shared<std::map<std::string, Scope>>();
  const auto open = [scopes, first](EventLoop& loop,
                                    const std::string& name) -> std::unique_ptr<ObjectStore> {
    Scope& scope = (*scopes)[name];
    auto fleet = scope.fleet.lock();
    if (!fleet) {
      fleet = std::make_shared<ServerFleet>(loop, 3);
      scope = {fleet, first};
    }
    return std::make_unique<Borrowed>(fleet, scope.handles++ % fleet->size());
  };
  return {.name = first == 0 ? "leader and follower" : "two followers",
          .open = open,
          .many_threads = false,
          .largest_body = 256 * 1024};
}

INSTANTIATE_TEST_SUITE_P(LeaderFirst, StoreConformance, ::testing::Values(servers(0)));
INSTANTIATE_TEST_SUITE_P(Followers, StoreConformance, ::testing::Values(servers(1)));

/// Three servers of which the first leads, and a store of the second.
class LocalStoreTest : public ::testing::Test {
 protected:
  LocalStoreTest() {
    thread_.run([this] { fleet_ = std::make_unique<ServerFleet>(thread_.loop(), 3); });
    store_ =
        std::make_unique<TestStore>(thread_, [this](EventLoop&) { return fleet_->new_store(1); });
    EXPECT_TRUE(store_->put("first", "1", Precondition::absent()));
  }
  ~LocalStoreTest() override {
    store_.reset();
    thread_.run([this] { fleet_.reset(); });
  }

  LoopThread thread_;
  std::unique_ptr<ServerFleet> fleet_;
  std::unique_ptr<TestStore> store_;
};

TEST_F(LocalStoreTest, AWriteThatTheLeaderTookAlongIsAmbiguousAndOneThatWasNeverSentWaits) {
  store_->patience = 500ms;
  const auto taken_along = store_->await<Revision>([this](Callback<Revision> done) {
    store_->store().put("second", "2", Precondition::absent(), store_->deadline(), std::move(done));
    fleet_->crash(0);
  });
  EXPECT_TRUE(taken_along.is(Errc::kAmbiguous)) << taken_along.error().message;
  const auto nobody_leads = store_->put("third", "3", Precondition::absent());
  EXPECT_TRUE(nobody_leads.is(Errc::kUnavailable)) << nobody_leads.error().message;
  EXPECT_TRUE(store_->get("third").is(Errc::kNotFound));
  store_->patience = 20s;
  EXPECT_TRUE(store_->put("third", "3", Precondition::absent())) << "the next leader performs it";
  EXPECT_TRUE(store_->put("third", "4", Precondition::absent()).is(Errc::kConflict));
}

TEST_F(LocalStoreTest, AWatchGoesOnThroughAChangeOfTheLeader) {
  WatchLog log(*store_, "", store_->list("")->cursor);
  ASSERT_TRUE(store_->put("before", "1"));
  thread_.run([this] { fleet_->crash(0); });
  store_->patience = 20s;
  ASSERT_TRUE(store_->put("after", "2"));
  ASSERT_TRUE(log.wait([](const auto& seen) { return seen.size() >= 2; }));
  const auto seen = log.seen();
  EXPECT_EQ(seen[0].key, "before");
  EXPECT_EQ(seen[1].key, "after");
}

}  // namespace local_store_test
}  // namespace muster
