// The SQL pattern of examples/fence/fence.sql, executed: a stale leader's write is refused inside
// its transaction.

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/strong.h"

namespace muster {
namespace fence_sqlite_test {

namespace fs = std::filesystem;

/// One leader's connection.
class Database {
 public:
  explicit Database(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK);
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  int run(const std::string& sql) {
    return sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  }
  [[nodiscard]] std::string error() const { return sqlite3_errmsg(handle_); }
  [[nodiscard]] int changed() const { return sqlite3_changes(handle_); }

  std::int64_t number(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const std::int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
  }

  /// The first pattern: true when this epoch may write, with the transaction begun and the fence
  /// held; otherwise nothing has happened.
  bool begin_fenced(Epoch epoch) {
    const std::string e = std::to_string(epoch.value());
    EXPECT_EQ(run("BEGIN IMMEDIATE"), SQLITE_OK) << error();
    EXPECT_EQ(
        run("UPDATE fence SET epoch = " + e + " WHERE resource = 'accounts' AND epoch <= " + e),
        SQLITE_OK);
    if (changed() == 1) return true;
    EXPECT_EQ(run("ROLLBACK"), SQLITE_OK);
    return false;
  }

 private:
  sqlite3* handle_ = nullptr;
};

struct FenceSqliteTest : ::testing::Test {
  FenceSqliteTest() {
    std::string name = (fs::temp_directory_path() / "muster-sqlite-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary directory";
    directory = name;
    std::ifstream schema("examples/fence/fence.sql");
    EXPECT_EQ(leader().run({std::istreambuf_iterator<char>(schema), {}}), SQLITE_OK);
  }
  ~FenceSqliteTest() override { fs::remove_all(directory); }

  [[nodiscard]] Database leader() const { return Database((directory / "app.db").string()); }

  fs::path directory;
};

TEST_F(FenceSqliteTest, AStaleLeadersTransactionIsRefused) {
  Database old_leader = leader();
  Database new_leader = leader();
  ASSERT_TRUE(old_leader.begin_fenced(Epoch(5)));
  ASSERT_EQ(old_leader.run("INSERT INTO accounts VALUES ('a', 10, 5); COMMIT"), SQLITE_OK);

  ASSERT_TRUE(new_leader.begin_fenced(Epoch(6)));
  ASSERT_EQ(new_leader.run("COMMIT"), SQLITE_OK);
  EXPECT_FALSE(old_leader.begin_fenced(Epoch(5)));
  EXPECT_EQ(new_leader.number("SELECT epoch FROM fence"), 6);
}

TEST_F(FenceSqliteTest, TheNewLeaderCannotComeBetweenTheCheckAndTheWrite) {
  Database old_leader = leader();
  Database new_leader = leader();
  ASSERT_TRUE(old_leader.begin_fenced(Epoch(5)));
  // The fence is held until the commit: the new leader waits, it does not overtake.
  EXPECT_EQ(new_leader.run("BEGIN IMMEDIATE"), SQLITE_BUSY);
  ASSERT_EQ(old_leader.run("INSERT INTO accounts VALUES ('a', 10, 5); COMMIT"), SQLITE_OK);
  EXPECT_TRUE(new_leader.begin_fenced(Epoch(6)));
  EXPECT_EQ(new_leader.run("COMMIT"), SQLITE_OK);
}

TEST_F(FenceSqliteTest, ATransactionThatWasRolledBackRaisesNothing) {
  Database new_leader = leader();
  ASSERT_TRUE(new_leader.begin_fenced(Epoch(6)));
  ASSERT_EQ(new_leader.run("ROLLBACK"), SQLITE_OK);
  Database old_leader = leader();
  EXPECT_TRUE(old_leader.begin_fenced(Epoch(5)));
  EXPECT_EQ(old_leader.run("COMMIT"), SQLITE_OK);
}

TEST_F(FenceSqliteTest, ARowRefusesAnEpochLowerThanItsLast) {
  Database database = leader();
  ASSERT_EQ(database.run("INSERT INTO accounts VALUES ('a', 10, 7)"), SQLITE_OK);
  EXPECT_EQ(database.run("UPDATE accounts SET balance = 0, epoch = 5 WHERE name = 'a'"),
            SQLITE_CONSTRAINT);
  EXPECT_EQ(database.error(), "stale epoch");
  EXPECT_EQ(database.run("DELETE FROM accounts WHERE name = 'a'"), SQLITE_CONSTRAINT);
  EXPECT_EQ(database.number("SELECT balance FROM accounts"), 10);
  EXPECT_EQ(database.run("UPDATE accounts SET balance = 20, epoch = 7 WHERE name = 'a'"),
            SQLITE_OK);
  EXPECT_EQ(database.number("SELECT balance FROM accounts"), 20);
}

TEST_F(FenceSqliteTest, AStaleUpdateTakesItsWholeTransactionBack) {
  Database database = leader();
  ASSERT_EQ(database.run("INSERT INTO accounts VALUES ('a', 10, 5), ('b', 10, 7)"), SQLITE_OK);
  ASSERT_EQ(database.run("BEGIN IMMEDIATE"), SQLITE_OK);
  ASSERT_EQ(database.run("UPDATE accounts SET balance = 0, epoch = 5 WHERE name = 'a'"), SQLITE_OK);
  ASSERT_EQ(database.run("UPDATE accounts SET balance = 20, epoch = 5 WHERE name = 'b'"),
            SQLITE_CONSTRAINT);
  ASSERT_EQ(database.run("ROLLBACK"), SQLITE_OK);
  EXPECT_EQ(database.number("SELECT SUM(balance) FROM accounts"), 20);
}

}  // namespace fence_sqlite_test
}  // namespace muster
