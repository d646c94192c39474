// Leads once in memory and tries a server that is not there: both halves of the library are linked.
#include <chrono>
#include <cstdio>
#include <future>
#include <mutex>

#include <muster/client/coordinator_client.h>
#include <muster/coordinator/hub.h>

int main() {
  auto hub = muster::Hub::open("memory:");
  if (!hub) return 1;
  muster::CoordinatorOptions options;
  options.startup_jitter_max = {};
  auto coordinator = (*hub)->coordinator("outside", options);
  if (!coordinator) return 2;
  std::promise<void> leads;
  std::once_flag once;
  (*coordinator)->on_event([&](const muster::CoordinatorEvent&) {
    if ((*coordinator)->is_leader()) std::call_once(once, [&] { leads.set_value(); });
  });
  (*coordinator)->start();
  if (leads.get_future().wait_for(std::chrono::seconds(30)) != std::future_status::ready) return 3;
  (*coordinator)->stop();

  auto client = muster::client::CoordinatorClient::connect("127.0.0.1:1");
  if (!client) return 4;
  const auto health = (*client)->call(muster::client::HealthCheck{});
  if (health) return 5;
  std::printf("%s\n", health.error().message.c_str());
  return 0;
}
