// What a PostgreSQL store says and does when its server fails, is replaced, lacks rights or room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "platform/system_clock.h"
#include "store/open/open.h"
#include "store/postgres/setup.h"
#include "store/probe.h"
#include "tests/support/child_process.h"
#include "tests/support/postgres_server.h"
#include "tests/support/scoped_env.h"
#include "tests/support/test_store.h"
#include "tests/support/watch_log.h"

namespace muster {
namespace postgres_failover_test {

using muster::testing::Pgbouncer;
using muster::testing::PostgresOptions;
using muster::testing::PostgresServer;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TestStore::Open store_at(const std::string& url) {
  return [url](EventLoop& loop) {
    auto store = open_store(url, loop, {});
    return store ? std::move(*store) : nullptr;
  };
}

/// A store and what it answers within a generous time: servers start and end meanwhile.
class PostgresScene : public ::testing::Test {
 protected:
  TestStore& open(const std::string& url) {
    stores_.push_back(std::make_unique<TestStore>(thread_, store_at(url)));
    return *stores_.back();
  }
  StoreInspection inspect(TestStore& store) {
    const auto seen = store.await<StoreInspection>([&](Callback<StoreInspection> done) {
      store.store().inspect(store.deadline(), std::move(done));
    });
    EXPECT_TRUE(seen) << seen.error().message;
    return seen ? *seen : StoreInspection{};
  }
  Status probe(TestStore& store) {
    Random random = system_random();
    return store.await<Done>([&](Callback<Done> done) {
      probe_store(store.store(), thread_.loop(), random, 5s, std::move(done));
    });
  }
  /// Waits until a read has an answer.
  static Result<Object> read(TestStore& store, const Key& key) {
    const MonoTime by = boot_now() + 30s;
    auto object = store.get(key);
    while (object.is(Errc::kUnavailable) && boot_now() < by) object = store.get(key);
    return object;
  }

  LoopThread thread_;
  std::vector<std::unique_ptr<TestStore>> stores_;
};

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

TEST_F(PostgresScene, TheDocumentedPrivilegesAreEnough) {
  PostgresServer server;
  server.sql(
      "CREATE ROLE app LOGIN; GRANT USAGE ON SCHEMA muster TO app;"
      " GRANT SELECT, INSERT, UPDATE, DELETE ON muster.objects TO app;"
      " GRANT USAGE ON SEQUENCE muster.revision TO app; CREATE ROLE reader LOGIN;"
      " GRANT USAGE ON SCHEMA muster TO reader; GRANT SELECT ON muster.objects TO reader;"
      " GRANT USAGE ON SEQUENCE muster.revision TO reader; CREATE ROLE stranger LOGIN");
  const auto url = [&](const std::string& role) {
    return "postgres://" + role + "@" + server.endpoint() + "/postgres?prefix=app";
  };
  TestStore& app = open(url("app"));
  EXPECT_TRUE(probe(app));
  WatchLog log(app, "key", "");
  const auto guard = app.put("guard", "1");
  ASSERT_TRUE(guard);
  EXPECT_TRUE(
      app.guarded_put("key", "2", Precondition::absent(), {"guard", Precondition::at(*guard)}));
  EXPECT_TRUE(app.guarded_put("other", "2", {}, {"absent", Precondition::absent()}));
  EXPECT_TRUE(log.wait([](const auto& seen) { return !seen.empty(); }));
  TestStore& reader = open(url("reader"));
  EXPECT_TRUE(reader.get("key"));
  EXPECT_TRUE(reader.put("key", "3").is(Errc::kDenied));
  EXPECT_TRUE(open(url("stranger")).get("key").is(Errc::kDenied));
  EXPECT_TRUE(open(url("nobody")).get("key").is(Errc::kDenied));
}

TEST_F(PostgresScene, AnUnsafeServerIsRefusedAndAnUnsafeRoleIsOverruled) {
  // Nobody writes to the disk but a commit that waits for it.
  PostgresServer server({.settings = {"wal_writer_delay = 10000ms"}, .access = {}});
  server.sql("ALTER ROLE postgres SET synchronous_commit = off");
  TestStore& store = open(server.url("app"));
  EXPECT_THAT(inspect(store).remarks, Contains(HasSubstr("synchronous_commit is off")));
  ASSERT_TRUE(store.put("key", "body"));
  server.restart();
  EXPECT_TRUE(PostgresScene::read(store, "key"));
  server.set("fsync = off");
  TestStore& unsafe = open(server.url("app"));
  const Status verdict = probe(unsafe);
  ASSERT_FALSE(verdict);
  EXPECT_THAT(verdict.error().message, HasSubstr("fsync is off"));
}

TEST_F(PostgresScene, AReadOnlyServerAndOneWithoutRoomAreNoConflict) {
  PostgresServer server;
  TestStore& store = open(server.url("app"));
  const auto made = store.put("key", "body");
  ASSERT_TRUE(made);
  server.sql("ALTER DATABASE postgres SET default_transaction_read_only = on");
  TestStore& late = open(server.url("app"));
  late.patience = 1s;
  const auto refused = late.put("key", "x", Precondition::at(*made));
  ASSERT_TRUE(refused.is(Errc::kUnavailable));
  EXPECT_THAT(refused.error().message, HasSubstr("read-only"));
  server.sql(
      "SET transaction_read_only = off; ALTER DATABASE postgres RESET "
      "default_transaction_read_only");
  late.patience = 10s;
  EXPECT_TRUE(late.put("key", "x", Precondition::at(*made)));
  server.sql(
      "CREATE ROLE app LOGIN CONNECTION LIMIT 1; GRANT USAGE ON SCHEMA muster TO app;"
      " GRANT SELECT, INSERT, UPDATE, DELETE ON muster.objects TO app;"
      " GRANT USAGE ON SEQUENCE muster.revision TO app");
  const std::string url = "postgres://app@" + server.endpoint() + "/postgres?prefix=app";
  TestStore& first = open(url);
  ASSERT_TRUE(first.get("key"));
  TestStore& second = open(url);
  second.patience = 1s;
  const auto full = second.get("key");
  ASSERT_TRUE(full.is(Errc::kUnavailable));
  EXPECT_THAT(full.error().message, HasSubstr("too many connections"));
  first.destroy();
  second.patience = 10s;
  EXPECT_TRUE(second.get("key"));
}

TEST_F(PostgresScene, APasswordComesFromTheUsualPlacesAndIsNeverShown) {
  PostgresServer server({.settings = {},
                         .access = {"host all guarded 127.0.0.1/32 scram-sha-256"},
                         .with_table = true});
  server.sql("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'tops3cret'");
  const std::string place = "@" + server.endpoint() + "/postgres?prefix=app";
  std::vector<std::string> lines;
  set_log_sink([&](const LogLine& line) { lines.push_back(format_text(line)); });
  TestStore& in_address = open("postgres://guarded:tops3cret" + place);
  EXPECT_TRUE(in_address.put("key", "body"));
  EXPECT_THAT(in_address.store().describe(), Not(HasSubstr("tops3cret")));
  for (const char* wrong : {"postgres://guarded:tops3cretx", "postgres://guarded"}) {
    const auto refused = open(wrong + place).get("key");
    ASSERT_TRUE(refused.is(Errc::kDenied)) << wrong;
    EXPECT_THAT(refused.error().message, Not(HasSubstr("tops3cret")));
  }
  {
    const ScopedEnv password("PGPASSWORD", "tops3cret");
    EXPECT_TRUE(open("postgres://guarded" + place).get("key"));
  }
  const TempDir dir;
  const std::string pgpass = (dir.path() / "pgpass").string();
  std::ofstream(pgpass) << "127.0.0.1:*:*:guarded:tops3cret\n";
  std::filesystem::permissions(pgpass, std::filesystem::perms::owner_read);
  EXPECT_TRUE(open("postgres://guarded" + place + "&passfile=" + pgpass).get("key"));
  const std::string services = (dir.path() / "services").string();
  std::ofstream(services) << "[app]\nhost=127.0.0.1\nport=" << server.port()
                          << "\ndbname=postgres\nuser=guarded\npassword=tops3cret\n";
  {
    const ScopedEnv file("PGSERVICEFILE", services);
    EXPECT_TRUE(open("postgres:///?service=app&prefix=app").get("key"));
  }
  set_log_sink({});
  for (const std::string& line : lines) EXPECT_THAT(line, Not(HasSubstr("tops3cret")));
}

// A write under a condition waits for another session; the condition must not change meanwhile.
TEST_F(PostgresScene, AGuardHoldsUntilTheWriteUnderItIsDone) {
  PostgresServer server;
  TestStore& store = open(server.url("app"));
  TestStore& other = open(server.url("app"));
  const auto until = [&](const std::string& condition) {
    const MonoTime by = boot_now() + 20s;
    const std::string question =
        "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND " + condition;
    while (server.sql(question) == "0" && boot_now() < by) {
    }
  };
  for (const bool absent : {false, true}) {
    const Key key = absent ? "under absence" : "under revision";
    const Key guard = absent ? "absent" : "present";
    Precondition when = Precondition::absent();
    if (!absent) when = Precondition::at(*other.put(guard, "1"));
    std::thread holder([&] {
      server.sql("BEGIN; INSERT INTO muster.objects VALUES ('app/" + key +
                 "', 'x', 1); SELECT pg_sleep(3); ROLLBACK");
    });
    until("wait_event = 'PgSleep'");
    std::promise<Result<Revision>> answered;
    thread_.run([&] {
      store.store().guarded_put(key, "body", Precondition::absent(), {guard, when},
                                store.deadline(),
                                [&](Result<Revision> put) { answered.set_value(std::move(put)); });
    });
    until("wait_event_type = 'Lock'");
    const auto changed = other.put(guard, "2", when);
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_TRUE(other.get(key)) << "the guard changed before the write was there";
    EXPECT_TRUE(answered.get_future().get());
    holder.join();
  }
}

TEST_F(PostgresScene, NoTwoRevisionsAreAlikeAndASequenceThatFellBehindIsReported) {
  PostgresServer server;
  TestStore& store = open(server.url("app"));
  ASSERT_TRUE(store.put("key", "body"));
  server.sql("UPDATE muster.objects SET revision = revision + 1000");
  TestStore& later = open(server.url("app"));
  const Status verdict = probe(later);
  ASSERT_TRUE(verdict.is(Errc::kUnsupported));
  EXPECT_THAT(verdict.error().message, HasSubstr("setval"));
}

TEST_F(PostgresScene, WhatIsMissingIsSaid) {
  PostgresServer server({.settings = {}, .access = {}, .with_table = false});
  const auto none = open(server.url("app")).get("key");
  ASSERT_TRUE(none.is(Errc::kInvalid));
  EXPECT_THAT(none.error().message, HasSubstr("muster postgres init"));
  const auto database =
      open("postgres://postgres@" + server.endpoint() + "/nothing?prefix=app").get("key");
  ASSERT_TRUE(database.is(Errc::kInvalid));
  EXPECT_THAT(database.error().message, HasSubstr("no such database"));
}

}  // namespace postgres_failover_test
}  // namespace muster
