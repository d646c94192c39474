#include "store/etcd/door.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "platform/event_loop.h"
#include "platform/testing/scripted_http_server.h"

namespace muster::etcd {
namespace door_test {

using Fault = ScriptedHttpServer::Fault;

/// What the door says of these members. Real ones are asked in tests of a real etcd.
Status knock(const std::vector<std::string>& endpoints) {
  EventLoop loop;
  Address address;
  address.endpoints = endpoints;
  Door door(loop, address);
  std::optional<Status> said;
  door.knock([&](const Status& status) { said = status; });
  while (!said) loop.run_until(loop.now() + 10ms);
  return *said;
}

std::string endpoint(const ScriptedHttpServer& server) {
  return server.url().substr(std::string("http://").size());
}

TEST(EtcdDoorTest, AMemberThatHangsUpWithoutAWordSaysNothing) {
  const ScriptedHttpServer proxy([](const ScriptedHttpServer::Request&) {
    return ScriptedHttpServer::Reply{.fault = Fault::kClose};
  });
  EXPECT_TRUE(knock({endpoint(proxy)}).ok());
}

TEST(EtcdDoorTest, OneThatIsAwaySaysNothing) {
  std::string gone;
  {
    const ScriptedHttpServer server(
        [](const ScriptedHttpServer::Request&) { return ScriptedHttpServer::Reply{}; });
    gone = endpoint(server);
  }
  EXPECT_TRUE(knock({gone}).ok());
  EXPECT_TRUE(knock({"unix:/nowhere"}).ok());
}

}  // namespace door_test
}  // namespace muster::etcd
