#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "base/mutex.h"
#include "client/backup.h"
#include "client/coordinator_client.h"
#include "platform/system_clock.h"
#include "tests/support/child_process.h"
#include "tests/support/scripted_coordinator.h"
#include "tests/support/silent_server.h"

namespace muster::client {
namespace calls_test {

using testing::AllOf;
using testing::HasSubstr;
using Servers = std::vector<std::string>;

NodeSpec spec(const std::string& id) {
  NodeSpec s;
  s.id = NodeId(id);
  s.address = "10.0.0.1";
  s.port = 7000;
  s.type = NodeType::kObject;
  s.generation = Generation("00000000-0000-4000-8000-000000000001");
  return s;
}

std::unique_ptr<SmartCoordinatorClient> smart(const Servers& servers,
                                              const RetryConfig& retry = {}) {
  auto client = SmartCoordinatorClient::create(servers, retry);
  EXPECT_TRUE(client) << client.error().message;
  return std::move(*client);
}

std::unique_ptr<CoordinatorClient> plain(const std::string& server) {
  auto client = CoordinatorClient::connect(server);
  EXPECT_TRUE(client) << client.error().message;
  return std::move(*client);
}

TEST(CoordinatorClientTest, CallsWaitGiveFuturesAndCallBack) {
  ScriptedCoordinator server;
  server.get_topology = [](auto&, const auto& request, auto& response) {
    response.set_version(request.linearizable() ? 8 : 7);
    auto& node = *response.add_object_nodes();
    node.set_id("a");
    node.set_port(7000);
    node.set_state(v1::NODE_STATE_ACTIVE);
    response.mutable_hash_ring_config()->set_virtual_nodes_per_physical(16);
    return grpc::Status::OK;
  };
  server.start();
  const auto client = plain(server.address());
  const auto waited = client->get_topology();
  ASSERT_TRUE(waited) << waited.error().message;
  EXPECT_EQ(waited->version, TopologyVersion(7));
  EXPECT_EQ(waited->nodes.at(0).id, NodeId("a"));
  EXPECT_EQ(waited->ring.virtual_nodes, 16U);
  EXPECT_EQ(client->async(GetTopology{true}).get()->version, TopologyVersion(8));
  std::promise<Errc> inner;
  client->start(GetTopology{}, [&](const Result<TopologyImage>& answer) {
    EXPECT_TRUE(answer);
    inner.set_value(client->get_topology().error().code);
  });
  EXPECT_EQ(inner.get_future().get(), Errc::kInvalid) << "a callback must not wait for itself";
}

TEST(CoordinatorClientTest, AServersWordIsToldAsItIs) {
  ScriptedCoordinator server;
  server.register_node = [](auto&, const auto&, auto&) {
    return grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "held by 10.0.0.9:7000");
  };
  server.deregister_node = [](auto& context, const auto&, auto&) {
    return ScriptedCoordinator::redirect(context, "other:9000");
  };
  server.start();
  const auto client = plain(server.address());
  const auto refused = client->register_node(spec("a"));
  EXPECT_TRUE(refused.is(Errc::kConflict));
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr(server.address()), HasSubstr("10.0.0.9")));
  const auto redirected = client->deregister_node(NodeId("a"), Generation());
  EXPECT_TRUE(redirected.is(Errc::kUnavailable));
  EXPECT_THAT(redirected.error().message, HasSubstr("other:9000"));
}

TEST(CoordinatorClientTest, AServerThatIsNotThereIsNamedWithinTheDeadline) {
  const std::string nobody = "127.0.0.1:" + std::to_string(free_port());
  const MonoTime before = boot_now();
  const auto refused = plain(nobody)->health_check({.timeout = 3s});
  EXPECT_TRUE(refused.is(Errc::kUnavailable));
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr(nobody), HasSubstr("check")));
  EXPECT_LT(boot_now() - before, 3s);
  const auto unknown = plain("no-such-host.invalid:9000")->health_check({.timeout = 3s});
  EXPECT_TRUE(unknown.is(Errc::kUnavailable));
  EXPECT_THAT(unknown.error().message, AllOf(HasSubstr("no-such-host.invalid"), HasSubstr("DNS")));
  EXPECT_LT(boot_now() - before, 7s);
}

// C14: every call has a deadline.
TEST(CoordinatorClientTest, AServerThatAcceptsAndNeverAnswersIsGivenUpAtTheDeadline) {
  const SilentServer silent;
  const MonoTime before = boot_now();
  const auto answer = plain(silent.address())->health_check({.timeout = 300ms});
  EXPECT_TRUE(answer.is(Errc::kUnavailable));
  EXPECT_THAT(answer.error().message, AllOf(HasSubstr(silent.address()), HasSubstr("check")));
  EXPECT_GE(boot_now() - before, 290ms);
  EXPECT_LT(boot_now() - before, 3s);
}

TEST(CoordinatorClientTest, AChangeWithoutAnAnswerIsAmbiguous) {
  std::latch release(1);
  ScriptedCoordinator server;
  server.register_node = [&](auto&, const auto&, auto&) {
    release.wait();
    return grpc::Status::OK;
  };
  server.start();
  const auto client = plain(server.address());
  EXPECT_TRUE(client->register_node(spec("a"), {.timeout = 200ms}).is(Errc::kAmbiguous));
  release.count_down();
}

TEST(CoordinatorClientTest, ACallIsCancelledByItsTokenAndByTheEndOfItsClient) {
  std::latch arrived(1);
  std::latch release(1);
  ScriptedCoordinator server;
  server.get_topology = [&](auto&, const auto&, auto&) {
    arrived.count_down();
    release.wait();
    return grpc::Status::OK;
  };
  server.start();
  auto client = plain(server.address());
  std::stop_source source;
  auto stopped = client->async(GetTopology{}, {.timeout = 60s, .stop = source.get_token()});
  arrived.wait();
  source.request_stop();
  EXPECT_TRUE(stopped.get().is(Errc::kCancelled));
  // A token that was stopped before the call counts as well.
  EXPECT_TRUE(client->async(GetTopology{}, {.timeout = 60s, .stop = source.get_token()})
                  .get()
                  .is(Errc::kCancelled));
  server.health_check = [&](auto&, const auto&, auto&) {
    release.wait();
    return grpc::Status::OK;
  };
  auto left = client->async(HealthCheck{}, {.timeout = 60s});
  client.reset();
  EXPECT_TRUE(left.get().is(Errc::kCancelled));
  release.count_down();
}

TEST(CoordinatorClientTest, AddressesThatAreNoneAreRefused) {
  for (const char* wrong :
       {"", "host", "host:", "host:0", "host:65536", "host:9x", "::1:9000", "[host]:9000",
        "ho st:9000", "ftp://host:9000", "https://host:9000", "http://host:9000/path"}) {
    const auto client = CoordinatorClient::connect(wrong);
    EXPECT_TRUE(client.is(Errc::kInvalid)) << wrong;
  }
  for (const char* right :
       {"host:9000", "127.0.0.1:1", "[::1]:9000", "http://host:9000", "http://[::1]:9000/"}) {
    EXPECT_TRUE(CoordinatorClient::connect(right)) << right;
  }
  // With TLS, and without: what the address says and what the files say must agree.
  const TlsFiles authority{.ca = "/nonexistent"};
  EXPECT_TRUE(CoordinatorClient::connect("http://host:9000", authority).is(Errc::kInvalid));
  EXPECT_EQ(parse_servers("a:1, b:2").value(), (Servers{"a:1", "b:2"}));
  EXPECT_TRUE(parse_servers("a:1,,b:2").is(Errc::kInvalid));
}

TEST(SmartCoordinatorClientTest, FollowsARedirectAndGoesThereAtOnceTheNextTime) {
  std::atomic<int> at_leader = 0;
  std::atomic<int> at_follower = 0;
  ScriptedCoordinator leader;
  ScriptedCoordinator follower;
  leader.register_node = [&](auto&, const auto&, auto& response) {
    ++at_leader;
    response.set_topology_version(3);
    return grpc::Status::OK;
  };
  leader.start();
  follower.register_node = [&](auto& context, const auto&, auto&) {
    ++at_follower;
    return ScriptedCoordinator::redirect(context, leader.address());
  };
  follower.start();
  const auto client = smart({follower.address()});
  EXPECT_EQ(client->register_node(spec("a"))->version, TopologyVersion(3));
  EXPECT_EQ(client->leader_hint(), leader.address());
  EXPECT_EQ(client->register_node(spec("b"))->version, TopologyVersion(3));
  EXPECT_EQ(at_follower, 1);
  EXPECT_EQ(at_leader, 2);
  // The leader goes; after two failures the hint is dropped and the follower is asked again.
  leader.stop();
  follower.register_node = [&](auto&, const auto&, auto& response) {
    response.set_topology_version(4);
    return grpc::Status::OK;
  };
  EXPECT_EQ(client->register_node(spec("c"))->version, TopologyVersion(4));
}

TEST(SmartCoordinatorClientTest, AsksWhoLeadsWhenNobodyKnows) {
  std::latch asked(1);
  ScriptedCoordinator leader;
  leader.start();
  ScriptedCoordinator follower;
  follower.health_check = [&](auto&, const auto&, auto& response) {
    response.set_leader_address(leader.address());
    asked.count_down();
    return grpc::Status::OK;
  };
  follower.register_node = [&](auto&, const auto&, auto&) {
    asked.wait();
    return grpc::Status::OK;
  };
  follower.start();
  const auto client = smart({follower.address()});
  EXPECT_TRUE(client->register_node(spec("a")));
  // The answer was sent before that of the registration; it is here soon, if not already.
  const MonoTime limit = boot_now() + 5s;
  while (client->leader_hint().empty() && boot_now() < limit) {
    EXPECT_TRUE(client->health_check());
  }
  EXPECT_EQ(client->leader_hint(), leader.address());
}

TEST(SmartCoordinatorClientTest, GoesOnWithAnotherServerWhenOneIsDead) {
  ScriptedCoordinator alive;
  alive.get_topology = [](auto&, const auto&, auto& response) {
    response.set_version(5);
    return grpc::Status::OK;
  };
  alive.start();
  for (int i = 0; i < 5; ++i) {
    const auto client = smart({"127.0.0.1:" + std::to_string(free_port()), alive.address()});
    const auto answer = client->get_topology();
    ASSERT_TRUE(answer) << answer.error().message;
  }
}

TEST(SmartCoordinatorClientTest, GoesOnWithAnotherServerWhenOneIsSilent) {
  const SilentServer silent;
  ScriptedCoordinator alive;
  alive.get_topology = [](auto&, const auto&, auto& response) {
    response.set_version(5);
    return grpc::Status::OK;
  };
  alive.start();
  RetryConfig retry;
  retry.attempt_timeout = 100ms;
  for (int i = 0; i < 5; ++i) {
    const auto client = smart({silent.address(), alive.address()}, retry);
    const auto answer = client->get_topology();
    ASSERT_TRUE(answer) << answer.error().message;
  }
}

// T25: a zombie's rejection is final.
TEST(SmartCoordinatorClientTest, ARefusalIsAskedForOnce) {
  std::atomic<int> asked = 0;
  ScriptedCoordinator server;
  server.register_node = [&](auto&, const auto&, auto&) {
    ++asked;
    return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "Zombie node detected");
  };
  server.start();
  EXPECT_TRUE(smart({server.address()})->register_node(spec("a")).is(Errc::kConflict));
  EXPECT_EQ(asked, 1);
}

// T25: it deregisters, too, and a retry that finds the node gone has succeeded.
TEST(SmartCoordinatorClientTest, ADeregistrationWhoseAnswerWasLostSucceedsAtTheSecondAttempt) {
  std::atomic<int> asked = 0;
  ScriptedCoordinator server;
  server.deregister_node = [&](auto&, const auto&, auto&) {
    return ++asked == 1 ? grpc::Status(grpc::StatusCode::UNKNOWN, "the outcome is not known")
                        : grpc::Status(grpc::StatusCode::NOT_FOUND, "not registered");
  };
  server.start();
  const auto client = smart({server.address()});
  EXPECT_TRUE(client->deregister_node(NodeId("a"), spec("a").generation));
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(client->deregister_node(NodeId("a"), spec("a").generation).is(Errc::kNotFound));
}

TEST(SmartCoordinatorClientTest, WhatMayActTwiceIsNotSentTwice) {
  std::atomic<int> asked = 0;
  ScriptedCoordinator server;
  server.transfer = [&](auto&, const auto&, auto&) {
    ++asked;
    return grpc::Status(grpc::StatusCode::UNKNOWN, "?");
  };
  server.start();
  const auto client = smart({server.address()});
  EXPECT_TRUE(client->call(TransferLeadership{"s2"}).is(Errc::kAmbiguous));
  EXPECT_EQ(asked, 1);
  server.transfer = [&](auto&, const auto&, auto& response) {
    if (++asked < 4) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "nobody leads");
    response.set_from("s1");
    return grpc::Status::OK;
  };
  // Nothing was changed, the server says: that is tried again.
  EXPECT_EQ(client->call(TransferLeadership{"s2"}).value(), "s1");
}

BackupSink into(std::string& file) {
  BackupSink sink;
  sink.begin = [&file] {
    file.clear();
    return Status(Done{});
  };
  sink.take = [&file](const std::string& data) {
    file += data;
    return Status(Done{});
  };
  return sink;
}

TEST(BackupTest, CopiesEveryByte) {
  std::string stored;
  std::string file;
  ScriptedCoordinator server;
  for (int i = 0; i < 300'000; ++i) stored += std::to_string(i);
  server.health_check = [](auto&, const auto&, auto&) { return grpc::Status::OK; };
  server.backup = [&](auto&, auto& writer) {
    for (std::size_t at = 0; at < stored.size(); at += 65'536) {
      v1::BackupChunk chunk;
      chunk.set_data(stored.substr(at, 65'536));
      writer.Write(chunk);
    }
    return grpc::Status::OK;
  };
  server.start();
  const auto client = smart({server.address()});
  const auto bytes = backup(*client, into(file));
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(*bytes, stored.size());
  EXPECT_TRUE(file == stored);
  // A disk that is full ends it, with that error.
  BackupSink full = into(file);
  full.take = [](const std::string&) { return Status(Errc::kCorrupt, "full"); };
  EXPECT_TRUE(backup(*client, full).is(Errc::kCorrupt));
}

// The leader dies in the middle, and another server is asked from the beginning.
TEST(BackupTest, FailsOverToAnotherServer) {
  ScriptedCoordinator leader;
  ScriptedCoordinator follower;
  const auto write = [](auto& writer, const std::string& data) {
    v1::BackupChunk chunk;
    chunk.set_data(data);
    writer.Write(chunk);
  };
  leader.backup = [&](auto&, auto& writer) {
    write(writer, "half");
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "this server is stopping");
  };
  follower.backup = [&](auto&, auto& writer) {
    write(writer, "whole");
    return grpc::Status::OK;
  };
  const auto health = [&](auto&, const auto&, auto& response) {
    response.set_leader_address(leader.address());
    return grpc::Status::OK;
  };
  leader.health_check = health;
  follower.health_check = health;
  leader.start();
  follower.start();
  std::string file;
  for (const auto& servers :
       {std::vector{follower.address()}, std::vector{follower.address(), leader.address()}}) {
    const auto client = smart(servers);
    const auto bytes = backup(*client, into(file));
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(*bytes, 5U);
    EXPECT_EQ(file, "whole");
  }
}

}  // namespace calls_test
}  // namespace muster::client
