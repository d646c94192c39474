#include <grpcpp/alarm.h>
#include <signal.h>

#include "bench/report.h"
#include "bench/server_parts.h"
#include "bench/server_subjects.h"
#include "muster/v1/store.pb.h"
#include "platform/system_clock.h"

namespace muster::bench {
namespace {

constexpr int kRounds = 5;

/// Asks every server that is left, again and again, until one of them acknowledges a write; the
/// time since `began` in milliseconds.
double next_write(RpcPump& pump, const std::vector<std::shared_ptr<grpc::Channel>>& channels,
                  MonoTime began) {
  bool over = false;
  double taken = 0;
  std::size_t running = channels.size();
  v1::StorePutRequest request;
  request.set_key("failover");
  request.set_value("value");
  std::function<void(std::size_t)> send = [&](std::size_t server) {
    unary<v1::StorePutResponse>(
        pump, channels[server], "/muster.v1.StoreService/Put", request, 250ms,
        [&, server](const grpc::Status& status, v1::StorePutResponse&) {
          if (status.ok() && !over) {
            over = true;
            taken = std::chrono::duration<double, std::milli>(boot_now() - began).count();
          }
          if (over) {
            --running;
            return;
          }
          // An answer "nobody leads" comes at once; a moment between two of them is enough.
          auto alarm = std::make_shared<grpc::Alarm>();
          alarm->Set(pump.queue(), gpr_time_from_millis(5, GPR_TIMESPAN),
                     RpcPump::tag([&, server, alarm](bool) { send(server); }));
        });
  };
  for (std::size_t i = 0; i < channels.size(); ++i) send(i);
  pump.run_until([&] { return running == 0; }, 60s);
  return taken;
}

std::vector<double> measure(ServerPair& servers, int signal) {
  RpcPump pump;
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const int leader = servers.musterd.leader();
    std::vector<std::shared_ptr<grpc::Channel>> others;
    for (int i = 0; i < servers.musterd.size(); ++i) {
      if (i != leader) others.push_back(connect_all(servers.musterd.endpoint(i), 1).front());
    }
    static_cast<void>(next_write(pump, others, boot_now()));  // All is well before.
    const MonoTime began = boot_now();
    ::kill(servers.musterd.pid(leader), signal);
    times.push_back(next_write(pump, others, began));
    servers.musterd.restart(leader);
  }
  return times;
}

void judge(Report& report, const std::string& what, const std::vector<double>& times, double bar) {
  const double worst = percentile(times, 1);
  report.data()["failover"][what] = times;
  report.note(what + ": median " + figure(percentile(times, 0.5), 0) + " ms, best " +
              figure(percentile(times, 0), 0) + " ms");
  report.at_most(what + ", worst of " + std::to_string(kRounds), worst, bar, "ms");
}

}  // namespace

void measure_failover(Report& report, const ServerRun& run) {
  report.title("from the end of the leading server to the next acknowledged write, three servers");
  {
    ServerPair servers(3, run.tmpfs);
    judge(report, "kill -9, lease 2 s", measure(servers, SIGKILL), 2300);
    judge(report, "SIGTERM", measure(servers, SIGTERM), 100);
  }
  ServerPair servers(3, run.tmpfs, {"--lease-timeout", "500ms"});
  judge(report, "kill -9, lease 500 ms", measure(servers, SIGKILL), 1000);
}

}  // namespace muster::bench
