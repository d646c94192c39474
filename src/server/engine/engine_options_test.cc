#include "server/engine/engine_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/url.h"

namespace muster::engine {
namespace engine_options_test {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Step = StartPlan::Step;

EngineOptions three() {
  ServerConfig config;
  config.engine = "managed";
  config.id = "s2";
  config.data_dir = "/var/lib/muster";
  config.peers = {{"s1", {"h1", 9001}}, {"s2", {"h2", 9001}}, {"s3", {"h3", 9001}}};
  config.peer_listen = Address{"0.0.0.0", 9001};
  config.engine_quota_mb = 100;
  return engine_options(config, "h2:9000");
}

TEST(EngineOptionsTest, ANewClusterIsThatOfThePeers) {
  const auto words = etcd_command(three(), {.step = Step::kBootstrap}).value();
  EXPECT_EQ(words.front(), "etcd");
  EXPECT_THAT(words, Contains("--name=s2"));
  EXPECT_THAT(words, Contains("--data-dir=/var/lib/muster/engine/etcd"));
  EXPECT_THAT(words, Contains("--initial-cluster=s1=http://h1:9001,s2=http://h2:9001,"
                              "s3=http://h3:9001"));
  EXPECT_THAT(words, Contains("--initial-cluster-state=new"));
  EXPECT_THAT(words, Contains("--listen-peer-urls=http://0.0.0.0:9001"));
  EXPECT_THAT(words, Contains("--initial-advertise-peer-urls=http://h2:9001"));
  EXPECT_THAT(words, Contains("--advertise-client-urls=http://h2:9000"));
  EXPECT_THAT(words, Contains("--quota-backend-bytes=104857600"));
  EXPECT_THAT(words, Contains("--pre-vote=true"));
}

// etcd refuses to start when it is told to listen on a name.
TEST(EngineOptionsTest, AServerThatPeersKnowByNameListensOnAllItsAddresses) {
  ServerConfig config;
  config.engine = "managed";
  config.id = "s1";
  const auto listens = [&config](const std::string& host) {
    config.peers = {{"s1", {host, 9001}}};
    return engine_options(config, "s1:9000").peer_listen.to_string();
  };
  EXPECT_EQ(listens("h1.example"), "0.0.0.0:9001");
  EXPECT_EQ(listens("10.0.0.1"), "10.0.0.1:9001");
  EXPECT_EQ(listens("fd00::1"), "[fd00::1]:9001");
  EXPECT_EQ(listens("localhost"), "localhost:9001");
}

TEST(EngineOptionsTest, AJoinerNamesItselfAmongTheMembers) {
  EngineOptions options = three();
  options.peers.clear();
  const Members members{{1, "s1", "http://h1:9001", {"h1:9000"}, false},
                        {2, "", "http://h2:9001", {}, true},
                        {3, "", "http://h3:9001", {}, false}};
  const auto words = etcd_command(options, {.step = Step::kJoin, .members = members}).value();
  EXPECT_THAT(words, Contains("--initial-cluster=s1=http://h1:9001,s2=http://h2:9001,"
                              "unstarted-3=http://h3:9001"));
  EXPECT_THAT(words, Contains("--initial-cluster-state=existing"));
}

// T02: whatever happens to its data, a server that joined never founds a cluster of its own.
TEST(EngineOptionsTest, AServerThatJoinedDoesNotFoundAClusterLater) {
  EngineOptions options = three();
  options.peers.clear();
  const auto words = etcd_command(options, {.step = Step::kRestart}).value();
  EXPECT_THAT(words, Contains("--initial-cluster-state=existing"));
}

TEST(EngineOptionsTest, PlaintextMembersGetNoTlsFlags) {
  const auto words = etcd_command(three(), {.step = Step::kRestart}).value();
  EXPECT_THAT(words, Not(Contains(HasSubstr("cert"))));
}

TEST(EngineOptionsTest, ACertificateThatCannotBeReadIsNamed) {
  EngineOptions options = three();
  options.tls = {"/no/ca.pem", "/no/cert.pem", "/no/key.pem"};
  const auto words = etcd_command(options, {.step = Step::kRestart});
  ASSERT_TRUE(words.is(Errc::kInvalid));
  EXPECT_THAT(words.error().message, HasSubstr("/no/cert.pem"));
  EXPECT_EQ(options.peer_url(options.peer), "https://h2:9001");
}

TEST(EngineOptionsTest, TheStoresAddressSurvivesOddPaths) {
  EngineOptions options = three();
  options.data_dir = "/a b/50%&?";
  const auto url = Url::parse(options.store_url());
  ASSERT_TRUE(url.ok()) << url.error().message;
  EXPECT_EQ(url->query.at("socket"), "/a b/50%&?/engine/localhost:2379");
}

TEST(EngineOptionsTest, AServerThatJoinsKnowsOnlyWhomToAsk) {
  ServerConfig config;
  config.engine = "managed";
  config.id = "s4";
  config.peers = {{"s4", {"h4", 9001}}};
  config.join = {{"h1", 9000}};
  const EngineOptions options = engine_options(config, "h4:9000");
  EXPECT_TRUE(options.peers.empty());
  EXPECT_EQ(options.join, std::vector<std::string>{"h1:9000"});
}

}  // namespace engine_options_test
}  // namespace muster::engine
