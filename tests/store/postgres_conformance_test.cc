// The suite on a real PostgreSQL, directly and behind a pooler in transaction mode, and what must
// hold while the server fails.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "platform/system_clock.h"
#include "tests/support/postgres_server.h"
#include "tests/support/races.h"
#include "tests/support/store_conformance.h"

namespace muster {
namespace postgres_conformance_test {

using muster::testing::Pgbouncer;
using muster::testing::PostgresServer;

/// A server dies with the thread that started it, so the main thread does, before any test.
class Servers : public ::testing::Environment {
 public:
  void SetUp() override {
    server = std::make_unique<PostgresServer>();
    pooler = std::make_unique<Pgbouncer>(*server);
  }
  void TearDown() override {
    pooler.reset();
    server.reset();
  }
  std::unique_ptr<PostgresServer> server;
  std::unique_ptr<Pgbouncer> pooler;
};

Servers& servers() {
  static auto* const instance = new Servers;  // GoogleTest deletes it.
  return *instance;
}
[[maybe_unused]] const auto* const kRegistered = ::testing::AddGlobalTestEnvironment(&servers());

INSTANTIATE_TEST_SUITE_P(Postgres, StoreConformance,
                         ::testing::Values(url_store_factory("postgres",
                                                             [](const std::string& scope) {
                                                               return servers().server->url(scope);
                                                             })));
INSTANTIATE_TEST_SUITE_P(PostgresPooled, StoreConformance,
                         ::testing::Values(url_store_factory("postgres behind pgbouncer",
                                                             [](const std::string& scope) {
                                                               return servers().pooler->url(scope);
                                                             })));

class PostgresFailureTest : public ::testing::Test {
 protected:
  const std::string prefix_ = "failure-" + system_random().uuid();
  PostgresServer& server_ = *servers().server;
  LoopThread thread_;
  TestStore store_{thread_, open_url(server_.url(prefix_))};
};

TEST_F(PostgresFailureTest, OfThirtyTwoCreatorsOneWins) {
  expect_one_creator([this](int) { return server_.url(prefix_); }, 50);
}

// Takes about 10 s: 16 processes append 50 times each to one object, most of which lose and try
// again, while every process of the server is killed and it recovers.
TEST_F(PostgresFailureTest, AServerKilledAndBroughtBackLosesNoSwap) {
  expect_no_lost_swap(
      store_, [this](int) { return server_.url(prefix_); }, [this] { server_.restart(); });
}

// Takes about 10 s: as above, while the server is stopped for longer than a request may take.
TEST_F(PostgresFailureTest, AFrozenServerLosesNoSwap) {
  expect_no_lost_swap(
      store_, [this](int) { return server_.url(prefix_); },
      [this] {
        server_.pause();
        sleep_for(3s);
        server_.resume();
      });
}

TEST_F(PostgresFailureTest, OfThirtyTwoCreatorsBehindAPoolerOneWins) {
  expect_one_creator([this](int) { return servers().pooler->url(prefix_); }, 50);
}

}  // namespace postgres_conformance_test
}  // namespace muster
