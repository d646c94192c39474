#include "store/etcd/access_probe.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "platform/event_loop.h"
#include "platform/testing/scripted_http_server.h"

namespace muster::etcd {
namespace access_probe_test {

using Fault = ScriptedHttpServer::Fault;

/// What the probe says of these members. Real ones are asked in tests of a real etcd.
Status probe(const std::vector<std::string>& endpoints) {
  EventLoop loop;
  Address address;
  address.endpoints = endpoints;
  AccessProbe asked(loop, address);
  std::optional<Status> said;
  asked.start([&](const Status& status) { said = status; });
  while (!said) loop.run_until(loop.now() + 10ms);
  return *said;
}

std::string endpoint(const ScriptedHttpServer& server) {
  return server.url().substr(std::string("http://").size());
}

TEST(EtcdAccessProbeTest, AMemberThatHangsUpWithoutAWordSaysNothing) {
  const ScriptedHttpServer proxy([](const ScriptedHttpServer::Request&) {
    return ScriptedHttpServer::Reply{.fault = Fault::kClose};
  });
  EXPECT_TRUE(probe({endpoint(proxy)}).ok());
}

TEST(EtcdAccessProbeTest, OneThatIsAwaySaysNothing) {
  std::string gone;
  {
    const ScriptedHttpServer server(
        [](const ScriptedHttpServer::Request&) { return ScriptedHttpServer::Reply{}; });
    gone = endpoint(server);
  }
  EXPECT_TRUE(probe({gone}).ok());
  EXPECT_TRUE(probe({"unix:/nowhere"}).ok());
}

}  // namespace access_probe_test
}  // namespace muster::etcd
