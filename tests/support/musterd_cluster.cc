#include "tests/support/musterd_cluster.h"

#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <signal.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "muster/v1/coordinator.grpc.pb.h"
#include "platform/system_clock.h"
#include "tests/support/spawn.h"

namespace muster::testing {
namespace {

[[noreturn]] void fail_musterd(const std::string& what) {
  throw std::runtime_error("MusterdCluster: " + what);
}

/// The program stands beside the one that runs this.
std::string program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "musterd";
}

std::optional<v1::HealthCheckResponse> health(const std::string& endpoint) {
  const auto channel = grpc::CreateChannel("ipv4:" + endpoint, grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  context.set_deadline(gpr_time_from_millis(500, GPR_TIMESPAN));
  v1::HealthCheckResponse response;
  if (!v1::CoordinatorService::NewStub(channel)->HealthCheck(&context, {}, &response).ok()) {
    return std::nullopt;
  }
  return response;
}

}  // namespace

MusterdCluster::MusterdCluster(MusterdClusterOptions options)
    : options_(std::move(options)), dir_(options_.parent) {
  try {
    servers_.resize(static_cast<std::size_t>(options_.servers));
    for (Server& server : servers_) std::tie(server.hold, server.port) = reserve_port();
    for (int i = 0; i < size(); ++i) start(i);
    static_cast<void>(leader());
  } catch (...) {
    for (int i = 0; i < size(); ++i) kill(i);
    throw;
  }
}

MusterdCluster::~MusterdCluster() {
  for (int i = 0; i < size(); ++i) kill(i);
}

std::string MusterdCluster::endpoint(int server) const {
  return "127.0.0.1:" + std::to_string(at(server).port);
}

std::string MusterdCluster::endpoints() const {
  std::string all;
  for (int i = 0; i < size(); ++i) all += (i > 0 ? "," : "") + endpoint(i);
  return all;
}

std::string MusterdCluster::url(const std::string& prefix) const {
  return "muster://" + endpoints() + "/" + prefix;
}

std::filesystem::path MusterdCluster::log_file(int server) const {
  return dir_.path() / ("s" + std::to_string(server) + ".log");
}

void MusterdCluster::start(int index) {
  const std::string id = "s" + std::to_string(index);
  std::filesystem::create_directories(dir_.path() / id);
  std::vector<std::string> words = {
      program(),  "--dev",         "--id",       id,
      "--listen", endpoint(index), "--data-dir", (dir_.path() / id).string()};
  if (!options_.engine.empty()) words.insert(words.end(), {"--engine", options_.engine});
  words.insert(words.end(), options_.extra_args.begin(), options_.extra_args.end());
  const UniqueFd log(
      ::open(log_file(index).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  at(index).pid = spawn(words, log.get());
  at(index).stopped = false;
}

void MusterdCluster::end(int index, int signal) {
  Server& server = at(index);
  if (server.pid < 0) return;
  ::kill(server.pid, signal);
  reap(server.pid);
  server.pid = -1;
  server.stopped = false;
}

void MusterdCluster::kill(int index) {
  end(index, SIGKILL);
}

void MusterdCluster::terminate(int index) {
  end(index, SIGTERM);
}

void MusterdCluster::stop(int index) {
  ::kill(at(index).pid, SIGSTOP);
  if (!await_stopped(at(index).pid)) fail_musterd("a server ended instead of stopping");
  at(index).stopped = true;
}

void MusterdCluster::cont(int index) {
  ::kill(at(index).pid, SIGCONT);
  at(index).stopped = false;
}

void MusterdCluster::restart(int index) {
  kill(index);
  start(index);
  static_cast<void>(leader());
}

std::optional<int> MusterdCluster::find_leader() const {
  std::optional<int> found;
  std::optional<std::string> agreed;
  for (int i = 0; i < size(); ++i) {
    if (at(i).pid < 0 || at(i).stopped) continue;
    const auto answer = health(endpoint(i));
    if (!answer || !answer->healthy()) return std::nullopt;
    if (agreed && *agreed != answer->leader_address()) return std::nullopt;
    agreed = answer->leader_address();
    if (answer->raft_state() == v1::RAFT_STATE_LEADER) found = i;
  }
  return found;
}

int MusterdCluster::leader() const {
  const MonoTime limit = boot_now() + 30s;
  while (boot_now() < limit) {
    if (const auto found = find_leader()) return *found;
    sleep_for(20ms);
  }
  std::string tails;
  for (int i = 0; i < size(); ++i) tails += "\n" + log_tail(i);
  fail_musterd("no leader within 30 s" + tails);
}

std::string MusterdCluster::log_tail(int server) const {
  std::ifstream in(log_file(server));
  std::stringstream text;
  text << in.rdbuf();
  const std::string all = text.str();
  return all.substr(all.size() > 1500 ? all.size() - 1500 : 0);
}

}  // namespace muster::testing
