#include "tests/support/etcd_cluster.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include "tests/support/spawn.h"

namespace muster::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

[[noreturn]] void fail_etcd(const std::string& what) {
  throw std::runtime_error("EtcdCluster: " + what);
}

void must_run(const std::vector<std::string>& words) {
  const ProgramOutput output = output_of(words);
  if (output.code != 0) fail_etcd(words[0] + " " + words[1] + " failed: " + output.text);
}

fs::path make_temp_dir(bool tmpfs) {
  const bool shm = tmpfs && ::access("/dev/shm", W_OK) == 0;
  std::string name =
      (shm ? fs::path("/dev/shm") : fs::temp_directory_path()) / "muster-etcd-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) fail_etcd("no temporary directory");
  return name;
}

}  // namespace

EtcdCluster::EtcdCluster(EtcdClusterOptions options)
    : options_(std::move(options)), dir_(make_temp_dir(options_.tmpfs)) {
  try {
    members_.resize(static_cast<std::size_t>(options_.members));
    for (Member& member : members_) {
      std::tie(member.client_hold, member.client_port) = reserve_port();
      std::tie(member.peer_hold, member.peer_port) = reserve_port();
    }
    if (options_.mutual_tls) make_certificates();
    for (int i = 0; i < size(); ++i) start(i);
    await_leader();
  } catch (...) {
    clean_up();
    throw;
  }
}

EtcdCluster::~EtcdCluster() {
  clean_up();
}

void EtcdCluster::clean_up() {
  for (int i = 0; i < size(); ++i) kill(i);
  std::error_code ignored;  // A directory that stays behind is no reason to end the test process.
  fs::remove_all(dir_, ignored);
}

std::string EtcdCluster::endpoint(int member) const {
  return "127.0.0.1:" + std::to_string(at(member).client_port);
}

std::string EtcdCluster::endpoints() const {
  std::string all;
  for (int i = 0; i < size(); ++i) all += (i > 0 ? "," : "") + endpoint(i);
  return all;
}

std::string EtcdCluster::url(const std::string& prefix) const {
  return "etcd://" + endpoints() + "/" + prefix;
}

void EtcdCluster::make_certificates() const {
  const auto path = [&](const char* name) { return (dir_ / name).string(); };
  std::ofstream(path("san.ext")) << "subjectAltName=IP:127.0.0.1,DNS:localhost\n";
  must_run({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
            "/CN=test-ca", "-keyout", path("ca.key"), "-out", path("ca.pem")});
  for (const std::string name : {"server", "client"}) {
    const std::string base = (dir_ / name).string();
    must_run({"openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test-" + name,
              "-keyout", base + ".key", "-out", base + ".csr"});
    must_run({"openssl", "x509", "-req", "-days", "2", "-in", base + ".csr", "-CA", path("ca.pem"),
              "-CAkey", path("ca.key"), "-CAcreateserial", "-extfile", path("san.ext"), "-out",
              base + ".pem"});
  }
}

void EtcdCluster::start(int index) {
  Member& member = at(index);
  const std::string scheme = options_.mutual_tls ? "https://" : "http://";
  const auto peer_url = [](const Member& m) {
    return "http://127.0.0.1:" + std::to_string(m.peer_port);
  };
  std::string initial;
  for (int i = 0; i < size(); ++i) {
    initial += (i > 0 ? ",m" : "m") + std::to_string(i) + "=" + peer_url(at(i));
  }
  const std::string name = "m" + std::to_string(index);
  std::vector<std::string> words = {"etcd",
                                    "--name=" + name,
                                    "--data-dir=" + (dir_ / name).string(),
                                    "--listen-client-urls=" + scheme + endpoint(index),
                                    "--advertise-client-urls=" + scheme + endpoint(index),
                                    "--listen-peer-urls=" + peer_url(member),
                                    "--initial-advertise-peer-urls=" + peer_url(member),
                                    "--initial-cluster=" + initial,
                                    "--heartbeat-interval=50",
                                    "--election-timeout=500",
                                    "--pre-vote=true"};
  if (options_.mutual_tls) {
    words.insert(words.end(), {"--client-cert-auth", "--trusted-ca-file=" + ca_file(),
                               "--cert-file=" + (dir_ / "server.pem").string(),
                               "--key-file=" + (dir_ / "server.key").string()});
  }
  words.insert(words.end(), options_.extra_args.begin(), options_.extra_args.end());
  const UniqueFd log(
      ::open((dir_ / (name + ".log")).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  member.pid = spawn(words, log.get());
  member.stopped = false;
}

void EtcdCluster::kill(int index) {
  Member& member = at(index);
  if (member.pid < 0) return;
  ::kill(member.pid, SIGKILL);
  reap(member.pid);
  member.pid = -1;
  member.stopped = false;
}

void EtcdCluster::stop(int index) {
  ::kill(at(index).pid, SIGSTOP);
  // The signal is only under way when kill() returns; the wait ends when the last thread stands.
  if (!await_stopped(at(index).pid)) fail_etcd("a member ended instead of stopping");
  at(index).stopped = true;
}

void EtcdCluster::cont(int index) {
  ::kill(at(index).pid, SIGCONT);
  at(index).stopped = false;
}

void EtcdCluster::restart(int index) {
  kill(index);
  start(index);
  await_leader();
}

void EtcdCluster::restart_empty(const std::string& token) {
  if (size() != 1) fail_etcd("restart_empty() is for one member");
  kill(0);
  fs::remove_all(dir_ / "m0");
  options_.extra_args.push_back("--initial-cluster-token=" + token);
  start(0);
  await_leader();
}

void EtcdCluster::save_snapshot(const std::string& name) const {
  static_cast<void>(ctl(0, {"snapshot", "save", (dir_ / name).string()}));
}

void EtcdCluster::restore_snapshot(const std::string& name) {
  if (size() != 1) fail_etcd("restore_snapshot() is for one member");
  kill(0);
  fs::remove_all(dir_ / "m0");
  const std::string peer = "http://127.0.0.1:" + std::to_string(at(0).peer_port);
  must_run({"env", "ETCDCTL_API=3", "etcdctl", "snapshot", "restore", (dir_ / name).string(),
            "--name=m0", "--data-dir=" + (dir_ / "m0").string(), "--initial-cluster=m0=" + peer,
            "--initial-advertise-peer-urls=" + peer});
  start(0);
  await_leader();
}

std::string EtcdCluster::ctl(int member, std::vector<std::string> args) const {
  std::vector<std::string> words = {"env",
                                    "ETCDCTL_API=3",
                                    "etcdctl",
                                    "--endpoints=" + endpoint(member),
                                    "--dial-timeout=2s",
                                    "--command-timeout=3s"};
  if (options_.mutual_tls) {
    words.insert(words.end(), {"--cacert=" + ca_file(), "--cert=" + client_cert_file(),
                               "--key=" + client_key_file()});
  }
  if (!ctl_user_.empty()) words.push_back("--user=" + ctl_user_);
  words.insert(words.end(), args.begin(), args.end());
  ProgramOutput output = output_of(words);
  if (output.code != 0) fail_etcd("etcdctl " + args.at(0) + " failed: " + output.text);
  return std::move(output.text);
}

void EtcdCluster::enable_auth(const std::string& root_password) {
  ctl(0, {"user", "add", "root:" + root_password});
  ctl(0, {"user", "grant-role", "root", "root"});
  ctl(0, {"auth", "enable"});
  ctl_user_ = "root:" + root_password;
}

std::optional<int> EtcdCluster::find_leader() const {
  std::optional<int> found;
  for (int i = 0; i < size(); ++i) {
    if (at(i).pid < 0 || at(i).stopped) continue;
    std::string text;
    try {
      text = ctl(i, {"endpoint", "status", "-w", "json"});
    } catch (const std::runtime_error&) {
      return std::nullopt;  // It does not serve yet.
    }
    const auto all = nlohmann::json::parse(text, nullptr, false);
    if (!all.is_array() || all.empty()) return std::nullopt;
    const auto& status = all[0]["Status"];
    const auto leader = status.value("leader", std::uint64_t{0});
    if (leader == 0) return std::nullopt;
    if (leader == status["header"].value("member_id", std::uint64_t{1})) found = i;
  }
  return found;
}

int EtcdCluster::leader() const {
  const auto limit = std::chrono::steady_clock::now() + 20s;
  while (std::chrono::steady_clock::now() < limit) {
    if (const auto found = find_leader()) return *found;
    std::this_thread::sleep_for(50ms);
  }
  std::string tails;
  for (int i = 0; i < size(); ++i) tails += "\n" + log_tail(i);
  fail_etcd("no leader within 20 s" + tails);
}

void EtcdCluster::await_leader() {
  static_cast<void>(leader());
}

std::string EtcdCluster::log_tail(int member) const {
  std::ifstream in(dir_ / ("m" + std::to_string(member) + ".log"));
  std::stringstream text;
  text << in.rdbuf();
  const std::string all = text.str();
  return all.substr(all.size() > 1500 ? all.size() - 1500 : 0);
}

}  // namespace muster::testing
