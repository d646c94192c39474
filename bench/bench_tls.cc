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
#include "bench/tls_site.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::bench {
namespace {

using testing::ClientPem;
using testing::Musterd;
using Heartbeats = RpcStream<v1::HeartbeatBatch, v1::HeartbeatBatchResponse>;

constexpr const char* kStream = "/muster.v1.CoordinatorService/HeartbeatStream";
constexpr int kTurns = 6;
constexpr double kPerSecond = 4000;

std::optional<LoadTls> load_tls(const std::optional<ClientPem>& pem) {
  if (!pem) return std::nullopt;
  return LoadTls{pem->authorities, pem->certificate, pem->key};
}

/// One server and one stream to it.
class Side {
 public:
  Side(RpcPump& pump, std::string name, const std::string& dir, std::vector<std::string> words,
       const std::optional<ClientPem>& pem)
      : name_(std::move(name)),
        server_("s1", "file://" + dir + "/" + name_, dir, with_lease(std::move(words)), true, {},
                pem),
        link_(pump.connect_all(server_.address(), 1, load_tls(pem)).front()) {
    MUSTER_CHECK(testing::eventually(
        [&] { return testing::register_node(server_, testing::node("n1")).ok(); }));
    stream_ =
        std::make_unique<Heartbeats>(link_, kStream, [this](v1::HeartbeatBatchResponse& response) {
          MUSTER_CHECK(response.refused_size() == 0);
          ++answers_;
        });
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
  /// A busy machine must not end the term in the middle of a measurement.
  static std::vector<std::string> with_lease(std::vector<std::string> words) {
    words.insert(words.end(), {"--lease-timeout", "15s"});
    return words;
  }

  std::string name_;
  Musterd server_;
  LinkPtr link_;
  std::unique_ptr<Heartbeats> stream_;
  std::uint64_t answers_ = 0;
  std::uint64_t total_ = 0;
  double cpu_us_ = 0;
};

void measure_streams(Report& report, const Site& site, Duration time) {
  const TempDir dir;
  const auto owner = own_pump();
  RpcPump& pump = *owner;
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
