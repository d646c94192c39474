// What a program of somebody else looks like: it asks a server that is not there, and elects itself.
#include <muster/client/node_agent.h>
#include <muster/client/topology_watch.h>
#include <muster/coordinator/hub.h>
#include <muster/v1/coordinator.grpc.pb.h>

#include <iostream>

int main() {
  using namespace std::chrono_literals;
  auto client = muster::client::SmartCoordinatorClient::create({"127.0.0.1:1"});
  if (!client) return 1;
  const auto health = (*client)->health_check({.timeout = 300ms});
  if (!health.is(muster::Errc::kUnavailable)) return 2;
  std::cout << health.error().message << '\n';

  auto hub = muster::Hub::open("memory:");
  if (!hub || !(*hub)->coordinator("default")) return 3;
  const muster::v1::HeartbeatRequest heartbeat;
  return heartbeat.node_id().empty() ? 0 : 4;
}
