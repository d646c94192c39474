// What a PostgreSQL store says and does when its server fails or is replaced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>

#include "base/log.h"
#include "store/postgres/setup.h"
#include "tests/store/postgres_scene.h"
#include "tests/support/watch_log.h"

namespace muster {
namespace postgres_failover_test {

using muster::testing::Pgbouncer;
using muster::testing::PostgresServer;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST_F(PostgresScene, AKilledServerComesBackWithEveryConfirmedWrite) {
  PostgresServer server;
  TestStore& store = open(server.url("app"));
  const auto made = store.put("key", "body", Precondition::absent());
  ASSERT_TRUE(made) << made.error().message;
  server.kill();
  store.patience = 1s;
  EXPECT_TRUE(store.get("key").is(Errc::kUnavailable));
  EXPECT_TRUE(store.put("key", "later", Precondition::at(*made)).is(Errc::kUnavailable))
      << "nothing can have been sent to a server that is not there";
  server.start();
  store.patience = 10s;
  const auto read = store.get("key");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->body, "body");
  EXPECT_EQ(read->revision, *made);
  EXPECT_EQ(store.store().history(), 0u) << "a restart changes nothing";
}

TEST_F(PostgresScene, AWriteToAFrozenServerIsAmbiguousAndMayLandLater) {
  PostgresServer server;
  TestStore& store = open(server.url("app"));
  ASSERT_TRUE(store.put("key", "before"));
  server.pause();
  store.patience = 1s;
  EXPECT_TRUE(store.put("key", "frozen").is(Errc::kAmbiguous));
  EXPECT_TRUE(store.put("key", "never sent").is(Errc::kUnavailable))
      << "the connection was given up, and a new one is not answered";
  EXPECT_TRUE(store.get("key").is(Errc::kUnavailable));
  server.resume();
  store.patience = 10s;
  const auto read = PostgresScene::read(store, "key");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->body, AnyOf("before", "frozen"));
}

TEST_F(PostgresScene, AWriteThatWasOnItsWayWhenTheServerDiedIsAmbiguous) {
  PostgresServer server;
  TestStore& store = open(server.url("app"));
  ASSERT_TRUE(store.put("key", "before"));
  server.pause();
  thread_.run([&] {
    store.store().put("key", "under way", {}, thread_.loop().now() + 20s,
                      [](const Result<Revision>& put) { EXPECT_TRUE(put.is(Errc::kAmbiguous)); });
  });
  server.kill();
  server.start();
  EXPECT_TRUE(PostgresScene::read(store, "key"));
}

TEST_F(PostgresScene, APromotedStandbyIsFollowedAndBeginsAHistory) {
  PostgresServer primary;
  PostgresServer standby(primary, {});
  const std::string hosts = primary.endpoint() + "," + standby.endpoint();
  TestStore& store = open("postgres://postgres@" + hosts + "/postgres?prefix=app");
  const auto made = store.put("key", "kept", Precondition::absent());
  ASSERT_TRUE(made) << made.error().message;
  const auto until = [&](const std::string& question, const std::string& answer) {
    const MonoTime by = boot_now() + 20s;
    while (standby.sql(question) != answer && boot_now() < by) {
    }
  };
  until("SELECT count(*) FROM muster.objects", "1");
  // What the standby never gets: it no longer hears the primary.
  standby.sql("ALTER SYSTEM SET primary_conninfo = ''");
  standby.sql("SELECT pg_reload_conf()");
  until("SELECT count(*) FROM pg_stat_wal_receiver", "0");
  ASSERT_TRUE(store.put("key", "lost", Precondition::at(*made)));
  ASSERT_TRUE(store.put("lost too", "lost"));
  primary.kill();
  standby.promote();
  const auto read = PostgresScene::read(store, "key");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->body, "kept");
  EXPECT_EQ(store.store().history(), 1u);
  EXPECT_NE(read->revision, *made) << "no revision of another history is one of this";
  EXPECT_TRUE(store.put("key", "stale", Precondition::at(*made)).is(Errc::kConflict));
  EXPECT_TRUE(store.put("key", "fresh", Precondition::at(read->revision)));

  // The old primary rises again, and nobody has stopped it: it is not believed any more.
  primary.start();
  standby.kill();
  store.patience = 3s;
  const auto outdated = store.get("key");
  ASSERT_TRUE(outdated.is(Errc::kUnavailable));
  EXPECT_THAT(outdated.error().message, AnyOf(HasSubstr("timeline 2"), HasSubstr("refused")));
}

TEST_F(PostgresScene, APoolerThatLeadsToAPromotedStandbyHidesNothing) {
  PostgresServer primary;
  Pgbouncer pooler(primary);
  PostgresServer standby(primary, {});
  TestStore& store = open(pooler.url("app"));
  ASSERT_TRUE(store.put("key", "kept"));
  EXPECT_THAT(inspect(store).remarks, Contains(HasSubstr("pooler")));
  primary.kill();
  standby.promote();
  pooler.lead_to(standby);
  ASSERT_TRUE(PostgresScene::read(store, "key"));
  EXPECT_EQ(store.store().history(), 1u);
}

TEST_F(PostgresScene, ASynchronousStandbyHasEveryConfirmedWrite) {
  PostgresServer primary;
  PostgresServer standby(primary, {});
  primary.set("synchronous_standby_names = 'standby'");
  const MonoTime by = boot_now() + 20s;
  while (primary.sql("SELECT sync_state FROM pg_stat_replication") != "sync" && boot_now() < by) {
  }
  const std::string hosts = primary.endpoint() + "," + standby.endpoint();
  TestStore& store = open("postgres://postgres@" + hosts + "/postgres?prefix=app");
  EXPECT_THAT(inspect(store).remarks, Contains(HasSubstr("loses nothing that was confirmed")));
  std::string last;
  for (int i = 0; i < 20; ++i) {
    if (store.put("key", std::to_string(i))) last = std::to_string(i);
  }
  ASSERT_FALSE(last.empty());
  // Without its standby the primary confirms nothing.
  standby.pause();
  store.patience = 1s;
  EXPECT_TRUE(store.put("key", "unconfirmed").is(Errc::kAmbiguous));
  standby.resume();
  primary.kill();
  standby.promote();
  store.patience = 10s;
  const auto read = PostgresScene::read(store, "key");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->body, AnyOf(last, "unconfirmed"));
}

// The server confirms it, with a warning: it is on one disk only.
TEST_F(PostgresScene, AWriteWhoseWaitForTheStandbyWasCancelledIsAmbiguous) {
  PostgresServer primary;
  TestStore& store = open(primary.url("app"));
  ASSERT_TRUE(store.put("key", "before"));
  primary.set("synchronous_standby_names = 'nobody'");
  // The server takes notice of that in its own time; until then it confirms at once.
  const std::string waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  const MonoTime by = boot_now() + 30s;
  std::future<Result<Revision>> answer;
  bool waits = false;
  while (!waits && boot_now() < by) {
    const auto answered = std::make_shared<std::promise<Result<Revision>>>();
    answer = answered->get_future();
    thread_.run([&] {
      store.store().put("key", "waiting", {}, thread_.loop().now() + 60s,
                        [answered](Result<Revision> put) { answered->set_value(std::move(put)); });
    });
    while (!waits && answer.wait_for(0s) != std::future_status::ready && boot_now() < by) {
      waits = primary.sql(waiting) == "1";
    }
  }
  ASSERT_TRUE(waits);
  primary.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  EXPECT_TRUE(answer.get().is(Errc::kAmbiguous));
}

TEST_F(PostgresScene, AnOlderBaseBackupBeginsAHistoryAndResetsWatches) {
  PostgresServer server;
  TestStore& store = open(server.url("app"));
  ASSERT_TRUE(store.put("key", "old"));
  server.save_backup("backup");
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(store.put("key", std::to_string(i)));
  WatchLog log(store, "key", "");
  ASSERT_TRUE(store.put("key", "newest"));
  ASSERT_TRUE(log.wait([](const auto& seen) { return !seen.empty(); }));
  server.restore_backup("backup");
  const auto read = PostgresScene::read(store, "key");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->body, "old");
  EXPECT_EQ(store.store().history(), 1u);
  EXPECT_TRUE(log.wait([](const auto& seen) {
    return std::any_of(seen.begin(), seen.end(), [](const WatchEvent& event) {
      return event.kind == WatchEvent::Kind::kReset;
    });
  }));
}

TEST_F(PostgresScene, ATableThatIsMadeAnewBeginsAHistoryAndRepeatsNoRevision) {
  PostgresServer server;
  TestStore& store = open(server.url("app"));
  const auto made = store.put("key", "old");
  ASSERT_TRUE(made);
  server.sql("DROP SCHEMA muster CASCADE");
  EXPECT_TRUE(store.get("key").is(Errc::kInvalid));
  std::promise<Status> ready;
  std::unique_ptr<postgres::Setup> setup;
  thread_.run([&] {
    setup = *postgres::open_setup(*Url::parse(server.url("")), {}, thread_.loop());
    setup->start("", thread_.loop().now() + 10s,
                 [&](Status status) { ready.set_value(std::move(status)); });
  });
  const Status status = ready.get_future().get();
  ASSERT_TRUE(status) << status.error().message;
  thread_.run([&] { setup.reset(); });
  EXPECT_TRUE(PostgresScene::read(store, "key").is(Errc::kNotFound));
  EXPECT_EQ(store.store().history(), 1u);
  const auto anew = store.put("key", "new");
  ASSERT_TRUE(anew);
  EXPECT_NE(*anew, *made);
}

}  // namespace postgres_failover_test
}  // namespace muster
