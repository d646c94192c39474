#include "tests/server/musterd.h"

#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "platform/system_clock.h"
#include "tests/support/child_process.h"

namespace muster::testing {

std::shared_ptr<grpc::Channel> open_channel(const std::string& address,
                                            const std::optional<ClientPem>& pem) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!pem) {
    return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  }
  const grpc::SslCredentialsOptions options{pem->authorities, pem->key, pem->certificate};
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(options), arguments);
}

Musterd::Musterd(std::string id, std::string engine, std::filesystem::path dir,
                 std::vector<std::string> extra, bool wait, MusterdPlace place,
                 std::optional<ClientPem> pem)
    : id_(std::move(id)),
      engine_(std::move(engine)),
      dir_(std::move(dir)),
      extra_(std::move(extra)),
      place_(std::move(place)),
      program_(MUSTERD_PROGRAM),
      secure_(pem.has_value()),
      port_(free_port()) {
  const auto speaks_of_limits = [](const std::string& word) {
    return word.starts_with("--limits");
  };
  if (std::none_of(extra_.begin(), extra_.end(), speaks_of_limits)) {
    extra_.insert(extra_.end(), {"--limits", "off"});
  }
  channel_ = open_channel(address(), pem);
  coordinator_ = v1::CoordinatorService::NewStub(channel_);
  store_ = v1::StoreService::NewStub(channel_);
  admin_ = v1::AdminService::NewStub(channel_);
  launch();
  if (wait) await();
}

Musterd::~Musterd() {
  kill();
  if (::testing::Test::HasFailure()) std::cerr << "---- log of " << id_ << "\n" << log();
}

std::string Musterd::address() const {
  return place_.host + ":" + std::to_string(port_);
}

std::string Musterd::log() const {
  std::ostringstream text;
  text << std::ifstream(dir_ / (id_ + ".log")).rdbuf();
  return text.str();
}

void Musterd::start(Duration limit) {
  if (process_) return;
  launch();
  await(limit);
}

void Musterd::launch() {
  const std::string path = dir_ / (id_ + ".log");
  const UniqueFd out(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  Command command{.argv = place_.before};
  for (const std::string& word : {program_, std::string("--id"), id_, std::string("--engine"),
                                  engine_, std::string("--listen"), address()}) {
    command.argv.push_back(word);
  }
  if (!secure_) command.argv.push_back("--insecure");
  command.argv.insert(command.argv.end(), extra_.begin(), extra_.end());
  command.null_stdin = true;
  command.descriptors = {{out.get(), 1},
                         {place_.standard_error < 0 ? out.get() : place_.standard_error, 2}};
  command.death_signal = SIGKILL;
  auto process = spawn(command);
  if (!process) throw std::runtime_error(process.error().message);
  process_.emplace(std::move(*process));
}

void Musterd::await(Duration limit) {
  const bool answers = eventually(
      [&] {
        if (process_->try_wait()) {
          process_.reset();
          throw std::runtime_error(id_ + " ended: " + log());
        }
        Context context(1s);
        v1::HealthCheckResponse response;
        // One that has no state yet says so, and no more.
        return coordinator_->HealthCheck(&context, {}, &response).ok() &&
               response.raft_state() != v1::RAFT_STATE_UNKNOWN;
      },
      limit);
  if (!answers) throw std::runtime_error(id_ + " does not answer: " + log());
}

void Musterd::kill() {
  if (!process_) return;
  process_->signal(SIGKILL);
  [[maybe_unused]] const ExitStatus status = process_->wait();
  process_.reset();
}

void Musterd::freeze() {
  process_->signal(SIGSTOP);
}

void Musterd::thaw() {
  process_->signal(SIGCONT);
}

void Musterd::reload() {
  process_->signal(SIGHUP);
}

int Musterd::terminate() {
  process_->signal(SIGTERM);
  return wait();
}

int Musterd::wait() {
  const ExitStatus status = process_->wait();
  process_.reset();
  return status.shell_code();
}

Context::Context(Duration timeout, bool wait_for_ready) {
  set_wait_for_ready(wait_for_ready);
  set_deadline(gpr_time_from_nanos(timeout.count(), GPR_TIMESPAN));
}

void let_pass(Duration time) {
  muster::sleep_for(time);
}

bool eventually(const std::function<bool()>& holds, Duration limit) {
  const MonoTime end = boot_now() + limit;
  while (!holds()) {
    if (boot_now() > end) return false;
    let_pass(20ms);
  }
  return true;
}

Musterd* leader_of(const std::vector<Musterd*>& servers, Duration limit) {
  Musterd* found = nullptr;
  const bool agreed = eventually(
      [&] {
        found = nullptr;
        std::set<std::string> named;
        for (Musterd* each : servers) {
          if (!each->running()) continue;
          const auto answer = health(*each);
          named.insert(answer.leader_id() + " " + answer.leader_address());
          if (answer.raft_state() == v1::RAFT_STATE_LEADER) found = each;
        }
        return found != nullptr && named.size() == 1 &&
               *named.begin() == found->id() + " " + found->address();
      },
      limit);
  return agreed ? found : nullptr;
}

std::string uuid(unsigned n) {
  const std::string digits = std::to_string(n);
  return "00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

v1::NodeInfo node(const std::string& id, unsigned generation) {
  v1::NodeInfo info;
  info.set_id(id);
  info.set_address("10.0.0.1");
  info.set_port(7000);
  info.set_type(v1::NODE_TYPE_OBJECT);
  info.set_generation_id(uuid(generation));
  return info;
}

grpc::Status register_node(Musterd& server, const v1::NodeInfo& node,
                           v1::RegisterNodeResponse* response) {
  v1::RegisterNodeRequest request;
  *request.mutable_node() = node;
  v1::RegisterNodeResponse own;
  Context context;
  return server.coordinator().RegisterNode(&context, request, response ? response : &own);
}

grpc::Status heartbeat(Musterd& server, const std::string& id, unsigned generation,
                       v1::NodeState state, v1::HeartbeatResponse* response) {
  v1::HeartbeatRequest request;
  request.set_node_id(id);
  request.set_generation_id(uuid(generation));
  request.set_reported_state(state);
  v1::HeartbeatResponse own;
  Context context;
  return server.coordinator().Heartbeat(&context, request, response ? response : &own);
}

v1::GetTopologyResponse topology(Musterd& server, bool linearizable) {
  v1::GetTopologyRequest request;
  request.set_linearizable(linearizable);
  v1::GetTopologyResponse response;
  Context context;
  const grpc::Status status = server.coordinator().GetTopology(&context, request, &response);
  EXPECT_TRUE(status.ok()) << server.id() << ": " << status.error_message();
  return response;
}

v1::HealthCheckResponse health(Musterd& server) {
  v1::HealthCheckResponse response;
  Context context(2s);
  // A server that cannot be reached is not healthy, which is what the empty answer says.
  const grpc::Status status = server.coordinator().HealthCheck(&context, {}, &response);
  return status.ok() ? response : v1::HealthCheckResponse{};
}

std::optional<v1::NodeInfo> find(const v1::GetTopologyResponse& topology, const std::string& id) {
  for (const auto* nodes :
       {&topology.frontend_nodes(), &topology.metadata_nodes(), &topology.object_nodes()}) {
    for (const v1::NodeInfo& each : *nodes) {
      if (each.id() == id) return each;
    }
  }
  return {};
}

grpc::Status put(Musterd& server, const std::string& key, const std::string& value,
                 Duration timeout) {
  v1::StorePutRequest request;
  request.set_key(key);
  request.set_value(value);
  v1::StorePutResponse response;
  Context context(timeout);
  return server.store().Put(&context, request, &response);
}

std::optional<std::string> get(Musterd& server, const std::string& key) {
  v1::StoreGetRequest request;
  request.set_key(key);
  v1::StoreGetResponse response;
  Context context;
  const grpc::Status status = server.store().Get(&context, request, &response);
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) return {};
  EXPECT_TRUE(status.ok()) << server.id() << ": " << status.error_message();
  return response.object().value();
}

}  // namespace muster::testing
