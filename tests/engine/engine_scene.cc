#include "tests/engine/engine_scene.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/check.h"
#include "base/log.h"
#include "candidate/guarded_command.h"
#include "platform/process_table.h"
#include "store/open/open.h"

namespace muster::testing {

using engine::Members;

EngineScene::EngineScene() {
  set_log_sink({});
}

EngineScene::~EngineScene() {
  nodes_.clear();
  for (const pid_t pid : etcds()) {
    ADD_FAILURE() << "etcd " << pid << " was left behind";
    ::kill(pid, SIGKILL);
  }
}

std::uint16_t EngineScene::port() {
  // Bound but never listened on: the kernel gives it to nobody else, while a server that sets
  // SO_REUSEADDR may listen.
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  MUSTER_CHECK(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
  MUSTER_CHECK(::bind(fd.get(), generic, length) == 0);
  MUSTER_CHECK(::getsockname(fd.get(), generic, &length) == 0);
  held_ports_.push_back(std::move(fd));
  return ntohs(address.sin_port);
}

EngineScene::Node& EngineScene::make(const std::string& name) {
  auto node = std::make_unique<Node>();
  engine::EngineOptions& options = node->options;
  options.name = name;
  options.peer = options.peer_listen = {"127.0.0.1", port()};
  options.contact = name + ".example:9000";
  options.data_dir = folder() + "/" + name;
  options.guardian = find_guardian();
  options.start_timeout = 30s;
  options.upkeep_interval = 100ms;
  options.ask = [this](const auto& contacts, const auto& request, const auto& done) {
    ask(contacts, request, done);
  };
  return *(nodes_[name] = std::move(node));
}

void EngineScene::make_cluster(const std::vector<std::string>& names) {
  std::map<std::string, Address> peers;
  for (const std::string& name : names) peers[name] = make(name).options.peer;
  for (const std::string& name : names) node(name).options.peers = peers;
}

EngineScene::Node& EngineScene::make_joiner(const std::string& name, const std::string& server) {
  Node& joiner = make(name);
  joiner.options.join = {server + ".example:9000"};
  return joiner;
}

void EngineScene::start(const std::string& name) {
  Node& here = node(name);
  here.ready.reset();
  here.ended.reset();
  here.engine = std::make_unique<ManagedEngine>(loop, here.options);
  here.engine->start([&here](Result<std::string> url) { here.ready = std::move(url); },
                     [&here](Error error) { here.ended = std::move(error); });
}

void EngineScene::await_ready(const std::string& name, Duration limit) {
  Node& here = node(name);
  ASSERT_TRUE(until([&] { return here.ready.has_value(); }, limit))
      << name << ": " << here.engine->health().words;
  ASSERT_TRUE(here.ready->ok()) << name << ": " << here.ready->error().message;
}

void EngineScene::start_all() {
  for (const auto& [name, each] : nodes_) start(name);
  for (const auto& [name, each] : nodes_) await_ready(name);
}

void EngineScene::stop(const std::string& name) {
  bool done = false;
  node(name).engine->stop([&] { done = true; });
  ASSERT_TRUE(until([&] { return done; }));
  node(name).engine.reset();
}

void EngineScene::wipe(const std::string& name) {
  std::filesystem::remove_all(node(name).options.data_dir);
}

bool EngineScene::until(const std::function<bool()>& holds, Duration limit) {
  const MonoTime end = loop.now() + limit;
  while (!holds()) {
    if (loop.now() >= end) return false;
    loop.run_until(loop.now() + 5ms);
  }
  return true;
}

void EngineScene::pass(Duration time) {
  const MonoTime end = loop.now() + time;
  while (loop.now() < end) loop.run_until(end);
}

Members EngineScene::members(const std::string& name) {
  std::optional<Result<Members>> listed;
  node(name).engine->members([&](Result<Members> result) { listed = std::move(result); });
  EXPECT_TRUE(until([&] { return listed.has_value(); }));
  EXPECT_TRUE(listed->ok()) << (listed->ok() ? "" : listed->error().message);
  return listed->ok() ? **listed : Members{};
}

std::unique_ptr<ObjectStore> EngineScene::open(const std::string& name) {
  const auto& ready = node(name).ready;
  if (!ready || !ready->ok()) throw std::runtime_error(name + " is not ready");
  return std::move(open_store(ready->value(), loop, {})).value();
}

Result<Revision> EngineScene::put(ObjectStore& store, const std::string& key,
                                  const std::string& body) {
  std::optional<Result<Revision>> written;
  store.put(key, body, Precondition::none(), loop.now() + 10s,
            [&](Result<Revision> result) { written = std::move(result); });
  EXPECT_TRUE(until([&] { return written.has_value(); }));
  return *written;
}

std::string EngineScene::get(ObjectStore& store, const std::string& key) {
  std::optional<Result<Object>> read;
  store.get(key, std::nullopt, loop.now() + 10s,
            [&](Result<Object> result) { read = std::move(result); });
  EXPECT_TRUE(until([&] { return read.has_value(); }));
  return read->ok() ? (*read)->body : read->error().message;
}

void EngineScene::ask(const std::vector<std::string>& contacts, const engine::Admission& request,
                      const std::function<void(Result<Members>)>& done) {
  for (const std::string& contact : contacts) {
    for (const auto& [name, each] : nodes_) {
      if (each->options.contact != contact || !each->engine || !each->ready) continue;
      return each->engine->admit(request, done);
    }
  }
  loop.post([done] { done(Error{Errc::kUnavailable, "nobody answers"}); });
}

std::vector<pid_t> EngineScene::processes_with(const std::string& word) const {
  std::vector<pid_t> found;
  ProcessTable table;
  table.look();
  for (const ProcessEntry& each : table.all()) {
    if (each.ended()) continue;
    std::ifstream file("/proc/" + std::to_string(each.pid) + "/cmdline");
    std::ostringstream text;
    text << file.rdbuf();
    const std::string all = text.str();
    if (all.starts_with("etcd") && all.find(word) != std::string::npos) found.push_back(each.pid);
  }
  return found;
}

std::vector<pid_t> EngineScene::etcds() const {
  return processes_with("--data-dir=" + folder());
}

pid_t EngineScene::etcd_of(const std::string& name) const {
  const auto found = processes_with("--data-dir=" + folder() + "/" + name + "/");
  return found.empty() ? 0 : found.front();
}

TlsFiles EngineScene::make_certificates(const std::string& kind) {
  const auto path = [this](const char* name) { return folder() + "/" + name; };
  const std::string key =
      kind == "rsa" ? "-newkey rsa:2048" : "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1";
  std::ofstream(path("san")) << "subjectAltName=IP:127.0.0.1,DNS:server.muster.internal\n";
  std::ofstream(path("make.sh"))
      << "set -e; exec 2>/dev/null\n"
      << "openssl req -x509 " << key << " -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem\n"
      << "openssl req " << key << " -nodes -subj /CN=s -keyout s.key -out s.csr\n"
      << "openssl x509 -req -days 2 -in s.csr -CA ca.pem -CAkey ca.key -CAcreateserial "
         "-extfile san -out s.pem\n";
  EXPECT_EQ(run_program({"sh", "-c", "cd " + folder() + " && sh make.sh"}), 0);
  return {path("ca.pem"), path("s.pem"), path("s.key")};
}

std::vector<std::string> EngineScene::host_words(const std::string& data,
                                                 const std::vector<std::string>& more) {
  std::vector<std::string> words{MUSTER_ENGINE_HOST, "--engine", "managed",
                                 "--insecure",       "--id",     "s1",
                                 "--data-dir",       data,       "--peers"};
  words.push_back("s1=127.0.0.1:" + std::to_string(port()));
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace muster::testing
