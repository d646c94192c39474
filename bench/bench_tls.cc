// What certificates cost: CPU of musterd for a heartbeat on a stream with mutual TLS against
// plaintext, in turns on the same machine, and the check of identity, standing and role per call.
//   bench_tls [--seconds N]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "bench/process_usage.h"
#include "bench/report.h"
#include "bench/rpc_load.h"
#include "core/security/identity.h"
#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "server/tls/tls_keeper.h"
#include "server/tls/tls_test_authority.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::bench {
namespace {

using testing::ClientPem;
using testing::Musterd;
using Heartbeats = RpcStream<v1::HeartbeatBatch, v1::HeartbeatBatchResponse>;

constexpr const char* kRegister = "/muster.v1.CoordinatorService/RegisterNode";
constexpr const char* kStream = "/muster.v1.CoordinatorService/HeartbeatStream";
constexpr int kTurns = 6;
constexpr double kPerSecond = 4000;

/// An authority with one server and one agent.
struct Site {
  Site() : now(std::chrono::floor<std::chrono::seconds>(system_wall_now()) - 1h), ca(now) {
    pki::CertificateOrder wanted{
        "s1", {security::kServerName}, {"127.0.0.1"}, {"muster:role:server"}};
    wanted.use = pki::CertificateOrder::Use::kServerAndClient;
    server = issue(wanted);
    agent = issue({"a1", {}, {"10.0.0.1"}, {"muster:role:agent", "muster:carries:n*"}});
    directory.write("s1.crt", server.certificate);
    directory.write("s1.key", server.key);
    directory.write("ca.crt", ca.pem());
    directory.write("crl", ca.list({"1", "2", "3"}));
  }
  [[nodiscard]] server::TestPair issue(pki::CertificateOrder wanted) const {
    wanted.not_before = now;
    wanted.not_after = now + 24h;
    return ca.issue(wanted);
  }
  [[nodiscard]] std::vector<std::string> words() const {
    return {"--cert",   directory.file("s1.crt"), "--key",      directory.file("s1.key"),
            "--cacert", directory.file("ca.crt"), "--crl-file", directory.file("crl")};
  }

  WallTime now;
  server::TestDirectory directory;
  server::TestAuthority ca;
  server::TestPair server;
  server::TestPair agent;
};

/// One server and one stream to it.
class Side {
 public:
  Side(RpcPump& pump, std::string name, const std::string& dir, std::vector<std::string> words,
       const std::optional<ClientPem>& pem)
      : name_(std::move(name)),
        server_("s1", "file://" + dir + "/" + name_, dir, std::move(words), true, pem),
        channel_(testing::open_channel(server_.address(), pem)) {
    v1::RegisterNodeRequest request;
    *request.mutable_node() = testing::node("n1");
    const bool registered = testing::eventually([&] {
      grpc::ClientContext context;
      v1::RegisterNodeResponse response;
      return v1::CoordinatorService::NewStub(channel_)
          ->RegisterNode(&context, request, &response)
          .ok();
    });
    MUSTER_CHECK(registered);
    stream_ = std::make_unique<Heartbeats>(pump, channel_, kStream,
                                           [this](v1::HeartbeatBatchResponse& response) {
                                             MUSTER_CHECK(response.refused_size() == 0);
                                             ++answers_;
                                           });
    pump.run_until([this] { return stream_->open(); });
  }

  /// One heartbeat a message, many messages a second.
  void turn(RpcPump& pump, Duration time) {
    v1::HeartbeatBatch batch;
    v1::HeartbeatRequest& beat = *batch.add_heartbeats();
    beat.set_node_id("n1");
    beat.set_generation_id(testing::uuid(1));
    beat.set_reported_state(v1::NODE_STATE_ACTIVE);
    std::uint64_t sent = 0;
    answers_ = 0;
    const CpuMeter meter(server_.pid());
    pump.run_paced(time, kPerSecond, [&] {
      stream_->write(batch);
      ++sent;
    });
    pump.run_until([&] { return answers_ == sent; });
    cpu_us_ += meter.used_us();
    total_ += sent;
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] double each_us() const { return cpu_us_ / static_cast<double>(total_); }

 private:
  std::string name_;
  Musterd server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Heartbeats> stream_;
  std::uint64_t answers_ = 0;
  std::uint64_t total_ = 0;
  double cpu_us_ = 0;
};

void measure_streams(Report& report, const Site& site, Duration time) {
  const TempDir dir;
  RpcPump pump;
  Side plain(pump, "plaintext", dir.path(), {}, std::nullopt);
  Side secure(pump, "tls", dir.path(), site.words(),
              ClientPem{site.ca.pem(), site.agent.certificate, site.agent.key});
  for (int i = 0; i < kTurns; ++i) {
    plain.turn(pump, time / kTurns);
    secure.turn(pump, time / kTurns);
  }
  report.title("CPU of musterd for a heartbeat, one a message on one stream");
  report.table({"", "CPU us"}, {{plain.name(), figure(plain.each_us(), 2)},
                                {secure.name(), figure(secure.each_us(), 2)}});
  report.data()["plaintext_us"] = plain.each_us();
  report.data()["tls_us"] = secure.each_us();
  report.at_most("TLS against plaintext, CPU a heartbeat", secure.each_us() / plain.each_us(), 2,
                 "x");
}

void measure_check(Report& report, const Site& site) {
  constexpr int kCalls = 1'000'000;
  EventLoop loop;
  server::TlsKeeper::Options options;
  options.files = {site.directory.file("s1.crt"), site.directory.file("s1.key"),
                   site.directory.file("ca.crt"), site.directory.file("crl")};
  options.server_id = "s1";
  server::TlsKeeper keeper(loop, options);
  MUSTER_CHECK(keeper.start().ok());
  const MonoTime began = boot_now();
  int admitted = 0;
  for (int i = 0; i < kCalls; ++i) {
    const auto peer = keeper.read(site.agent.certificate);
    const auto what = security::call_of_method(kRegister);
    if (peer && what && server::admit(**peer, *what, keeper.revocations(), loop.wall_now()).ok()) {
      ++admitted;
    }
  }
  const double each_us =
      std::chrono::duration<double, std::micro>(boot_now() - began).count() / kCalls;
  MUSTER_CHECK(admitted == kCalls);
  report.title("Identity, standing and role of one call");
  report.data()["check_us"] = each_us;
  report.at_most("the check of a call", each_us, 1, "us");
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  using namespace muster::bench;
  double seconds = 12;
  if (argc == 3 && std::strcmp(argv[1], "--seconds") == 0) seconds = std::atof(argv[2]);
  if ((argc != 1 && argc != 3) || !(seconds > 0)) {
    std::fprintf(stderr, "usage: bench_tls [--seconds N]\n");
    return 64;
  }
  muster::set_log_sink({});
  Report report("tls");
  const Site site;
  measure_check(report, site);
  measure_streams(report, site, muster::scale(std::chrono::seconds(1), seconds));
  return report.finish();
}
