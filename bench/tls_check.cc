#include <chrono>

#include "base/check.h"
#include "bench/load.h"
#include "bench/tls_site.h"
#include "core/security/permissions.h"
#include "platform/event_loop.h"
#include "server/security/tls_keeper.h"

namespace muster::bench {
namespace {

constexpr const char* kRegister = "/muster.v1.CoordinatorService/RegisterNode";

}  // namespace

void measure_check(Report& report, const Site& site) {
  constexpr int kCalls = 1'000'000;
  EventLoop loop;
  server::TlsKeeper::Options options;
  options.files = {site.directory.file("s1.crt"), site.directory.file("s1.key"),
                   site.directory.file("ca.crt"), site.directory.file("crl")};
  options.server_id = "s1";
  server::TlsKeeper keeper(loop, options);
  MUSTER_CHECK(keeper.start().ok());
  const Duration began = process_cpu();
  int admitted = 0;
  for (int i = 0; i < kCalls; ++i) {
    const auto peer = keeper.read(site.agent.certificate);
    const auto what = security::call_of_method(kRegister);
    if (peer && what && server::admit(**peer, *what, keeper.revocations(), loop.wall_now()).ok()) {
      ++admitted;
    }
  }
  const double each_us =
      std::chrono::duration<double, std::micro>(process_cpu() - began).count() / kCalls;
  MUSTER_CHECK(admitted == kCalls);
  report.title("CPU for identity, standing and role of one call");
  report.data()["check_us"] = each_us;
  report.at_most("the check of a call", each_us, 1, "us");
}

}  // namespace muster::bench
