// What musterd costs: the loop's time for a snapshot, CPU of a heartbeat, writes, and the time
// without a leader after kill -9 and after SIGTERM.
//   bench_musterd [ROUNDS of failover]
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "bench/cluster_state_cost.h"
#include "bench/report.h"
#include "platform/system_clock.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"
#include "tests/support/etcd_cluster.h"

namespace muster::bench {
namespace {

using testing::Context;
using testing::Musterd;

/// CPU time that a process has used so far, in microseconds.
double cpu_us(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) * 1e6 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double ms_since(MonoTime began) {
  return static_cast<double>((boot_now() - began).count()) / 1e6;
}

Musterd* find_leader(std::vector<std::unique_ptr<Musterd>>& servers) {
  Musterd* found = nullptr;
  MUSTER_CHECK(testing::eventually([&] {
    for (auto& each : servers) {
      if (each->running() && testing::health(*each).raft_state() == v1::RAFT_STATE_LEADER) {
        found = each.get();
      }
    }
    return found != nullptr;
  }));
  return found;
}

void snapshots(Report& report) {
  report.title("a snapshot of 100,000 nodes, in milliseconds of the loop");
  const SnapshotCost cost = measure_snapshot(100'000);
  report.table({"step", "ms"},
               {{"begin", figure(cost.begin, 2)},
                {"worst part", figure(cost.worst_part, 2)},
                {"worst batch of 10,000 heartbeats meanwhile", figure(cost.worst_batch, 2)},
                {"the same batch without one", figure(cost.quiet_batch, 2)},
                {"load, all parts", figure(cost.load, 2)}});
  report.note(std::to_string(cost.parts) + " parts, " + std::to_string(cost.bytes) + " bytes");
  report.at_most("loop held up at once", std::max({cost.begin, cost.worst_part, cost.worst_batch}),
                 20, "ms");
  report.data()["snapshot"] = {{"begin_ms", cost.begin},
                               {"worst_part_ms", cost.worst_part},
                               {"worst_batch_ms", cost.worst_batch},
                               {"load_ms", cost.load}};
}

void heartbeats(Report& report, Musterd& server) {
  constexpr int kNodes = 1000;
  constexpr int kRounds = 300;
  for (int i = 0; i < kNodes; ++i) {
    MUSTER_CHECK(testing::register_node(server, testing::node("n" + std::to_string(i))).ok());
  }
  v1::HeartbeatBatch batch;
  for (int i = 0; i < 100; ++i) {
    v1::HeartbeatRequest& beat = *batch.add_heartbeats();
    beat.set_node_id("n" + std::to_string(i));
    beat.set_generation_id(testing::uuid(1));
    beat.set_reported_state(v1::NODE_STATE_ACTIVE);
  }
  const double before = cpu_us(server.pid());
  {
    Context context(60s);
    auto stream = server.coordinator().HeartbeatStream(&context);
    v1::HeartbeatBatchResponse response;
    for (int i = 0; i < kRounds; ++i) {
      MUSTER_CHECK(stream->Write(batch) && stream->Read(&response));
      MUSTER_CHECK(response.refused_size() == 0);
    }
    stream->WritesDone();
    MUSTER_CHECK(stream->Finish().ok());
  }
  const double streamed = (cpu_us(server.pid()) - before) / (kRounds * 100.0);
  const double middle = cpu_us(server.pid());
  for (int i = 0; i < 3000; ++i) {
    MUSTER_CHECK(testing::heartbeat(server, "n" + std::to_string(i % kNodes)).ok());
  }
  const double single = (cpu_us(server.pid()) - middle) / 3000.0;
  report.title("CPU of the server for one heartbeat, in microseconds");
  report.table({"how", "µs"}, {{"100 in a message of a stream", figure(streamed, 2)},
                               {"one call each, one after another", figure(single, 1)}});
  report.data()["heartbeat_us"] = {{"stream_100", streamed}, {"unary", single}};
}

void writes(Report& report, Musterd& server, const std::string& where) {
  std::vector<double> each;
  for (int i = 0; i < 300; ++i) {
    const MonoTime began = boot_now();
    MUSTER_CHECK(testing::put(server, "w/" + std::to_string(i), "value").ok());
    each.push_back(ms_since(began));
  }
  std::sort(each.begin(), each.end());
  constexpr int kLanes = 32;
  constexpr int kEach = 100;
  const MonoTime began = boot_now();
  std::vector<std::thread> lanes;
  for (int lane = 0; lane < kLanes; ++lane) {
    lanes.emplace_back([&, lane] {
      for (int i = 0; i < kEach; ++i) {
        MUSTER_CHECK(testing::put(server, "l" + std::to_string(lane), std::to_string(i)).ok());
      }
    });
  }
  for (std::thread& lane : lanes) lane.join();
  const double rate = kLanes * kEach / (ms_since(began) / 1000);
  report.title("writes through " + where);
  report.table({"how", "figure"}, {{"one after another, median ms", figure(each[150], 2)},
                                   {"one after another, 99th of 100, ms", figure(each[297], 2)},
                                   {"32 at once, writes a second", figure(rate, 0)}});
  report.data()["writes"][where] = {
      {"median_ms", each[150]}, {"p99_ms", each[297]}, {"rate", rate}};
}

void failovers(Report& report, std::vector<std::unique_ptr<Musterd>>& servers, int rounds) {
  std::vector<std::vector<std::string>> rows;
  for (const bool kill : {true, false}) {
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) {
      Musterd* leader = find_leader(servers);
      Musterd* other = servers[servers[0].get() == leader ? 1 : 0].get();
      const MonoTime began = boot_now();
      std::thread end([&] {
        if (kill) {
          leader->kill();
        } else {
          MUSTER_CHECK(leader->terminate() == 0);
        }
      });
      end.join();
      while (!testing::put(*other, "failover", std::to_string(i), 1s).ok()) {
      }
      times.push_back(ms_since(began));
      leader->start();
    }
    std::sort(times.begin(), times.end());
    rows.push_back({kill ? "kill -9" : "SIGTERM", figure(times.front(), 0),
                    figure(times[times.size() / 2], 0), figure(times.back(), 0)});
    report.data()["failover_ms"][kill ? "kill" : "term"] = times;
  }
  report.title("from the end of the leader to the next acknowledged write, ms");
  report.table({"end", "min", "median", "max"}, rows);
}

int main(int rounds) {
  Report report("musterd");
  snapshots(report);
  testing::EtcdCluster etcd;
  TempDir dir;
  std::vector<std::unique_ptr<Musterd>> servers;
  for (const char* id : {"s1", "s2", "s3"}) {
    servers.push_back(std::make_unique<Musterd>(id, etcd.url("bench"), dir.path()));
  }
  Musterd* leader = find_leader(servers);
  heartbeats(report, *leader);
  writes(report, *leader, "the leader");
  writes(report, *servers[servers[0].get() == leader ? 1 : 0], "a follower");
  failovers(report, servers, rounds);
  return report.finish();
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  return muster::bench::main(argc > 1 ? std::atoi(argv[1]) : 5);
}
