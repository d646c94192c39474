#include <signal.h>

#include <algorithm>

#include "bench/report.h"
#include "bench/server_parts.h"
#include "bench/server_subjects.h"
#include "muster/v1/store.pb.h"
#include "platform/system_clock.h"

namespace muster::bench {
namespace {

constexpr int kRounds = 5;

/// Writes to every server in `channels`, one after another on each, and remembers how long nobody
/// acknowledged any of them.
class Writers {
 public:
  Writers(RpcPump& pump, std::vector<LinkPtr> channels)
      : pump_(pump), channels_(std::move(channels)) {
    request_.set_key("failover");
    request_.set_value("value");
  }

  /// Writes for `time`; the longest time without an acknowledgement, in milliseconds.
  double longest_gap(Duration time, const std::function<void()>& at_once) {
    last_ = boot_now();
    end_ = last_ + time;
    gap_ = Duration::zero();
    running_ = channels_.size();
    at_once();
    for (std::size_t i = 0; i < channels_.size(); ++i) send(i);
    pump_.run_until([&] { return running_ == 0; });
    acknowledged();  // Silence until the end is a gap, too.
    return std::chrono::duration<double, std::milli>(gap_).count();
  }

 private:
  void acknowledged() {
    const MonoTime now = boot_now();
    gap_ = std::max<Duration>(gap_, now - last_);
    last_ = now;
  }

  void send(std::size_t server) {
    unary<v1::StorePutResponse>(channels_[server], "/muster.v1.StoreService/Put", request_, 250ms,
                                [this, server](const CallEnd& status, v1::StorePutResponse&) {
                                  if (status.ok()) acknowledged();
                                  if (boot_now() >= end_) {
                                    --running_;
                                    return;
                                  }
                                  // "Nobody leads" is answered at once; a moment between two such
                                  // answers is enough.
                                  pump_.after(5ms, [this, server] { send(server); });
                                });
  }

  RpcPump& pump_;
  std::vector<LinkPtr> channels_;
  v1::StorePutRequest request_;
  MonoTime last_{};
  MonoTime end_{};
  Duration gap_{0};
  std::size_t running_ = 0;
};

std::vector<double> measure(ServerPair& servers, int signal, Duration window) {
  const auto owner = own_pump();
  RpcPump& pump = *owner;
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const int leader = servers.musterd.leader();
    std::vector<LinkPtr> others;
    for (int i = 0; i < servers.musterd.size(); ++i) {
      if (i != leader) others.push_back(pump.connect_all(servers.musterd.endpoint(i), 1).front());
    }
    Writers writers(pump, others);
    static_cast<void>(writers.longest_gap(300ms, [] {}));  // All is well before.
    times.push_back(
        writers.longest_gap(window, [&] { ::kill(servers.musterd.pid(leader), signal); }));
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
  report.title(
      "the longest time without an acknowledged write after the leading server's end, of three");
  {
    ServerPair servers(3, run.tmpfs);
    judge(report, "kill -9, lease 2 s", measure(servers, SIGKILL, 4s), 2300);
    judge(report, "SIGTERM", measure(servers, SIGTERM, 4s), 100);
  }
  ServerPair servers(3, run.tmpfs, {"--lease-timeout", "500ms"});
  judge(report, "kill -9, lease 500 ms", measure(servers, SIGKILL, 3s), 1000);
}

}  // namespace muster::bench
