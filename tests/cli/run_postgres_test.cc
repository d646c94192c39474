// A PostgreSQL whose primary is lost, under those who use it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/run_program.h"
#include "tests/support/postgres_server.h"

namespace muster {
namespace run_postgres_test {

using ::testing::HasSubstr;
using testing::PostgresServer;

class PostgresPromotionTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string url() const {
    return "postgres://postgres@" + primary_.endpoint() + "," + standby_.endpoint() +
           "/postgres?prefix=app";
  }
  void await_standby(const std::string& question, const std::string& answer) const {
    const MonoTime by = boot_now() + 20s;
    while (standby_.sql(question) != answer && boot_now() < by) {
    }
  }
  /// From here on, the standby gets nothing any more, as one that is far away in the worst moment.
  void cut_off_standby() const {
    standby_.sql("ALTER SYSTEM SET primary_conninfo = ''");
    standby_.sql("SELECT pg_reload_conf()");
    await_standby("SELECT count(*) FROM pg_stat_wal_receiver", "0");
  }

  PostgresServer primary_;
  PostgresServer standby_{primary_, {}};
};

// E7: takes about 12 s: two servers start, and a lease of one second is waited out twice.
TEST_F(PostgresPromotionTest, AStandbyThatForgotATermElectsAboveEveryEpochThatWasSeen) {
  Worker first(url(), "w1");
  ASSERT_EQ(first.next("term:began")["epoch"], 1);
  await_standby("SELECT count(*) > 0 FROM muster.objects WHERE key LIKE '%state.json'", "t");
  Worker second(url(), "w2");
  ASSERT_FALSE(second.next("leader:changed").is_null());
  cut_off_standby();
  first.kill();
  ASSERT_EQ(second.next("term:began")["epoch"], 2);
  Worker third(url(), "w3");
  ASSERT_EQ(third.next("leader:changed")["epoch"], 2);
  primary_.kill();
  standby_.promote();
  EXPECT_FALSE(second.next("trouble").is_null());
  auto changed = third.next("leader:changed");
  while (!changed.is_null() && changed["epoch"] < 3) changed = third.next("leader:changed");
  ASSERT_FALSE(changed.is_null());
  EXPECT_EQ(second.terminate(), 0);
  EXPECT_EQ(third.terminate(), 0);
}

// E7: the same for a command: its work ends, and goes on under a higher epoch.
TEST_F(PostgresPromotionTest, ACommandGoesOnUnderAHigherEpochAfterAPromotion) {
  // Takes about 12 s: two servers start, and a lease of two seconds is waited out twice.
  Runner first(url(), "n1", {}, {"sleep", "1000"});
  ASSERT_EQ(first.next("became_leader")["epoch"], 1);
  await_standby("SELECT count(*) > 0 FROM muster.objects WHERE key LIKE '%state.json'", "t");
  Runner second(url(), "n2", {}, {"sleep", "1000"});
  ASSERT_FALSE(second.next("leader_changed").is_null());
  cut_off_standby();
  first.kill();
  ASSERT_EQ(second.next("became_leader")["epoch"], 2);
  primary_.kill();
  standby_.promote();
  EXPECT_FALSE(second.next("trouble").is_null());
  EXPECT_EQ(second.next("became_leader")["epoch"], 3);
  EXPECT_EQ(second.terminate(), 128 + SIGTERM);
}

TEST(PostgresCommandTest, InitMakesWhatARoleNeedsAndSaysWhatIsMissing) {
  PostgresServer server({.settings = {}, .access = {}, .with_table = false});
  const std::string host = "@" + server.endpoint() + "/postgres";
  server.sql("CREATE ROLE \"odd \"\"name\" LOGIN; CREATE ROLE app LOGIN");
  const Outcome refused = run_muster({"postgres", "init", "postgres://app" + host});
  EXPECT_EQ(refused.code, 69);
  EXPECT_THAT(refused.out + refused.err, HasSubstr("may create a schema in the database"));
  const Outcome missing =
      run_muster({"postgres", "init", "postgres://postgres" + host, "--role", "nobody"});
  EXPECT_EQ(missing.code, 64);
  for (int i = 0; i < 2; ++i) {
    const Outcome made =
        run_muster({"postgres", "init", "postgres://postgres" + host, "--role", "odd \"name"});
    EXPECT_EQ(made.code, 0) << made.err;
  }
  const Outcome safe =
      run_muster({"probe", "--arbiter", "postgres://odd%20%22name" + host + "?prefix=app"});
  EXPECT_EQ(safe.code, 0) << safe.err;
  EXPECT_THAT(safe.out, HasSubstr("note: no standby is connected"));
  server.sql("CREATE DATABASE other");
  server.sql("CREATE DATABASE third");
  server.sql("CREATE SCHEMA muster; CREATE TABLE muster.objects (key text, body text)", "other");
  const Outcome other =
      run_muster({"postgres", "init", "postgres://postgres@" + server.endpoint() + "/other"});
  EXPECT_EQ(other.code, 64);
  EXPECT_THAT(other.err, HasSubstr("is not as Muster makes it"));
  // The SQL does the same by hand.
  server.sql(run_muster({"postgres", "sql", "--role", "app"}).out, "third");
  EXPECT_EQ(
      run_muster({"probe", "--arbiter", "postgres://app@" + server.endpoint() + "/third"}).code, 0);
  EXPECT_EQ(run_muster({"postgres", "init", "file:///tmp"}).code, 64);
  EXPECT_EQ(run_muster({"postgres"}).code, 64);
}

}  // namespace run_postgres_test
}  // namespace muster
