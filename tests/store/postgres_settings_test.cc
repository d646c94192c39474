// What a PostgreSQL store says and does about rights, settings, room and passwords.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "tests/store/postgres_scene.h"
#include "tests/support/child_process.h"
#include "tests/support/scoped_env.h"
#include "tests/support/watch_log.h"

namespace muster {
namespace postgres_failover_test {

using muster::testing::PostgresServer;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

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
