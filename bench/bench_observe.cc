// What watching costs: a scrape at 10,000 nodes, ten open pages, the log of decisions.
//   ./dev bench observe

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/process_usage.h"
#include "bench/report.h"
#include "bench/rpc_load.h"
#include "bench/server_subjects.h"
#include "core/cluster/decision_log.h"
#include "muster/v1/coordinator.pb.h"
#include "platform/system_clock.h"
#include "platform/unique_fd.h"
#include "tests/support/child_process.h"
#include "tests/support/loopback.h"
#include "tests/support/musterd_cluster.h"

namespace muster::bench {
namespace {

constexpr std::size_t kNodes = 10'000;
constexpr std::size_t kPages = 10;
constexpr int kScrapes = 50;
constexpr Duration kWatched = 10s;

double in_ms(Duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

v1::HeartbeatBatch beats(std::size_t begin, std::size_t end) {
  v1::HeartbeatBatch batch;
  for (std::size_t i = begin; i < end; ++i) {
    v1::HeartbeatRequest& beat = *batch.add_heartbeats();
    beat.set_node_id(node_id(i));
    beat.set_generation_id(generation_of(i));
  }
  return batch;
}

/// A fleet whose heartbeats come over one stream, each node's every ten seconds.
class Fleet {
 public:
  Fleet(RpcPump& pump, const LinkPtr& channel)
      : pump_(pump),
        stream_(channel, "/muster.v1.CoordinatorService/HeartbeatStream",
                [this](v1::HeartbeatBatchResponse&) { ++answers_; }) {
    stream_.write(beats(0, kNodes));
    pump_.run_until([this] { return answers_ == 1; });
  }
  /// A second of heartbeats, and a node that is new.
  void second(const LinkPtr& channel) {
    run(1s);
    register_nodes(pump_, channel, registered_, registered_ + 1);
    ++registered_;
  }

 private:
  void run(Duration time) {
    constexpr std::size_t kStep = 100;
    pump_.run_paced(time, static_cast<double>(kNodes / kStep) / 10, [this] {
      stream_.write(beats(next_, next_ + kStep));
      next_ = (next_ + kStep) % kNodes;
    });
  }

  RpcPump& pump_;
  RpcStream<v1::HeartbeatBatch, v1::HeartbeatBatchResponse> stream_;
  std::size_t answers_ = 0;
  std::size_t next_ = 0;
  std::size_t registered_ = kNodes;
};

/// One kept connection to the server, for GET. Calls block.
class Visitor {
 public:
  explicit Visitor(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in to = loopback(port);
    MUSTER_CHECK(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    const timeval patience{30, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  /// The body of an answer, which is 200 and has its length.
  std::string get(const std::string& path) {
    const std::string head = ask(path);
    const std::string name = "\r\nContent-Length: ";
    const auto at = head.find(name);
    MUSTER_CHECK(at != head.npos);
    const std::size_t size = std::stoul(head.substr(at + name.size()));
    while (received_.size() < size) MUSTER_CHECK(receive());
    std::string body = received_.substr(0, size);
    received_.erase(0, size);
    return body;
  }
  /// Hands on what comes of an answer without an end, until `take` is false or the server is gone.
  void listen(const std::string& path, const std::function<bool(std::string_view)>& take) {
    ask(path);
    while (take(std::exchange(received_, {})) && receive()) {
    }
  }

 private:
  std::string ask(const std::string& path) {
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    MUSTER_CHECK(::send(fd_.get(), request.data(), request.size(), MSG_NOSIGNAL) ==
                 static_cast<ssize_t>(request.size()));
    auto end = std::string::npos;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) MUSTER_CHECK(receive());
    std::string head = received_.substr(0, end);
    received_.erase(0, end + 4);
    MUSTER_CHECK(head.starts_with("HTTP/1.1 200 "));
    return head;
  }
  bool receive() {
    std::array<char, 65536> chunk;
    const ssize_t count = ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
    if (count > 0) received_.append(chunk.data(), static_cast<std::size_t>(count));
    return count > 0;
  }

  UniqueFd fd_;
  std::string received_;
};

/// Pages that show the first nodes: each listens to events, and asks for what it shows again after
/// a change, as the real one does.
class Pages {
 public:
  Pages(int port, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      threads_.emplace_back([this, port] { show(port); });
    }
  }
  ~Pages() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t reloads() const { return reloads_; }

 private:
  void show(int port) {
    Visitor events(port);
    Visitor rows(port);
    events.listen("/api/events", [&](std::string_view bytes) {
      bytes_ += bytes.size();
      if (bytes.find("event: change") != std::string_view::npos) {
        MUSTER_CHECK(!rows.get("/api/nodes?sort=id&limit=200").empty());
        ++reloads_;
      }
      return !over_.load();
    });
  }

  std::atomic<bool> over_ = false;
  std::atomic<std::size_t> bytes_ = 0;
  std::atomic<std::size_t> reloads_ = 0;
  std::vector<std::thread> threads_;
};

void measure_scrape(Report& report, int port) {
  report.title("a scrape of /metrics, 10,000 nodes");
  Visitor client(port);
  std::vector<double> ms;
  std::size_t bytes = 0;
  for (int i = 0; i < kScrapes; ++i) {
    const MonoTime began = boot_now();
    bytes = client.get("/metrics").size();
    ms.push_back(in_ms(boot_now() - began));
  }
  report.table({"scrape", "p50 ms", "p99 ms", "KB"},
               {{"/metrics", figure(percentile(ms, 0.5), 2), figure(percentile(ms, 0.99), 2),
                 figure(static_cast<double>(bytes) / 1000, 1)}});
  report.data()["scrape"] = {{"p50_ms", percentile(ms, 0.5)}, {"bytes", bytes}};
  report.at_most("a scrape, median", percentile(ms, 0.5), 20, "ms");
  report.at_most("its size", static_cast<double>(bytes) / 1e6, 1, "MB");
}

void measure_pages(Report& report, int port, pid_t pid, const LinkPtr& channel, Fleet& fleet) {
  report.title("ten open pages, 10,000 nodes with a heartbeat every 10 s, a new node every second");
  const auto share = [&] {
    const CpuMeter meter(pid);
    for (Duration left = kWatched; left > 0s; left -= 1s) fleet.second(channel);
    return std::chrono::duration<double>(meter.used()) / std::chrono::duration<double>(kWatched) *
           100;
  };
  const double alone = share();
  double watched = 0;
  std::size_t bytes = 0;
  {
    const Pages pages(port, kPages);
    fleet.second(channel);
    watched = share();
    bytes = pages.bytes();
    MUSTER_CHECK(pages.reloads() >= kPages);
  }
  report.table({"pages", "% of a core"}, {{"none", figure(alone, 2)}, {"ten", figure(watched, 2)}});
  report.data()["pages"] = {{"alone_percent", alone}, {"watched_percent", watched}};
  MUSTER_CHECK(bytes > 0);
  report.at_most("what ten pages add", watched - alone, 2, "% of a core");
}

/// CPU time that it takes to describe and keep one decision: nodes that register, become ACTIVE and
/// go on changing until the log is full and the oldest decisions are let go.
double decision_us() {
  constexpr std::size_t kDecisions = 1'000'000;
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < kNodes; ++i) ids.push_back(node_id(i));
  cluster::DecisionLog log;
  const membership::Command command = membership::RegisterNode{};
  membership::Event event{};
  event.kind = membership::EventKind::kNodeAdded;
  event.node.state = membership::NodeState::kJoining;
  const membership::Reason reason{"an unknown caller at 10.0.0.1", {}};
  const CpuMeter meter(::getpid());
  for (std::size_t i = 0; i < kDecisions; ++i) {
    event.node.id = NodeId(ids[i % kNodes]);
    log.add(cluster::describe(event, command, reason));
  }
  return meter.used_us() / static_cast<double>(kDecisions);
}

void measure_decisions(Report& report, double command_us) {
  report.title("the log of decisions, beside what a registration costs the server in all");
  const double each = decision_us();
  report.table({"", "CPU µs"},
               {{"a registration", figure(command_us, 1)}, {"its decision", figure(each, 2)}});
  report.data()["decisions"] = {{"command_us", command_us}, {"decision_us", each}};
  report.at_most("what the log of decisions costs", each / command_us * 100, 3, "% of a command");
}

int run() {
  Report report("observe");
  const int port = free_port();
  testing::MusterdCluster cluster(
      {.servers = 1,
       .extra_args = {"--limits", "off", "--http-listen", "127.0.0.1:" + std::to_string(port)},
       .parent = "/dev/shm"});
  const auto owner = own_pump();
  RpcPump& pump = *owner;
  const auto channel = pump.connect_all(cluster.endpoint(0), 1).front();
  const CpuMeter meter(cluster.pid(0));
  register_nodes(pump, channel, 0, kNodes);
  const double command_us = meter.used_us() / kNodes;
  Fleet fleet(pump, channel);
  measure_scrape(report, port);
  measure_pages(report, port, cluster.pid(0), channel, fleet);
  measure_decisions(report, command_us);
  return report.finish();
}

}  // namespace
}  // namespace muster::bench

int main() {
  return muster::bench::run();
}
