#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "muster/v1/admin.grpc.pb.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "muster/v1/store.grpc.pb.h"
#include "platform/process.h"

namespace muster::testing {

/// Where a musterd runs, and what starts it there.
struct MusterdPlace {
  std::string host = "127.0.0.1";
  std::vector<std::string> before{};  ///< The words before the program's.
  int standard_error = -1;            ///< Where that goes; into the log when negative.
};
/// What a client of a server with certificates shows and believes, in PEM form.
struct ClientPem {
  std::string authorities;
  std::string certificate;
  std::string key;
};
/// A connection of its own to a server; without `pem` in plaintext.
[[nodiscard]] std::shared_ptr<grpc::Channel> open_channel(const std::string& address,
                                                          const std::optional<ClientPem>& pem);

/// A real musterd as a child, which dies with the thread that made it. Its port stays the same over
/// restarts. One thread.
class Musterd {
 public:
  /// Starts it; without `wait` it may not answer yet. In plaintext unless `pem` says what to show
  /// it, and without limits unless `extra` speaks of them.
  Musterd(std::string id, std::string engine, std::filesystem::path dir,
          std::vector<std::string> extra = {}, bool wait = true, MusterdPlace place = {},
          std::optional<ClientPem> pem = {});
  ~Musterd();
  Musterd(const Musterd&) = delete;
  Musterd& operator=(const Musterd&) = delete;

  /// Starts it, unless it runs, and waits until it answers.
  void start(Duration limit = 20s);
  /// Starts it and does not wait: its first request may find nobody.
  void start_soon() { launch(); }
  void await(Duration limit = 20s);
  void kill();      ///< SIGKILL, and reaped on return.
  void freeze();    ///< SIGSTOP.
  void thaw();      ///< SIGCONT.
  void reload();    ///< SIGHUP.
  int terminate();  ///< SIGTERM; answers with its exit code.
  int wait();       ///< For its own end; answers with its exit code.
  /// Another build of it, from the next start on.
  void use(std::string program) { program_ = std::move(program); }
  [[nodiscard]] bool running() const { return process_.has_value(); }

  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] std::string address() const;
  /// What it has logged so far.
  [[nodiscard]] std::string log() const;

  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  [[nodiscard]] v1::CoordinatorService::Stub& coordinator() { return *coordinator_; }
  [[nodiscard]] v1::StoreService::Stub& store() { return *store_; }
  [[nodiscard]] v1::AdminService::Stub& admin() { return *admin_; }

 private:
  void launch();

  std::string id_;
  std::string engine_;
  std::filesystem::path dir_;
  std::vector<std::string> extra_;
  MusterdPlace place_;
  std::string program_;
  bool secure_;
  int port_;
  std::optional<Process> process_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::CoordinatorService::Stub> coordinator_;
  std::unique_ptr<v1::StoreService::Stub> store_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

/// The context of one call.
class Context : public grpc::ClientContext {
 public:
  explicit Context(Duration timeout = 10s, bool wait_for_ready = true);
};

/// Real time, which real processes need.
void let_pass(Duration time);
/// Asks again until `holds`; false when it does not for long.
bool eventually(const std::function<bool()>& holds, Duration limit = 20s);

/// The one that says it leads and whom all that run name; null when they do not agree for long.
[[nodiscard]] Musterd* leader_of(const std::vector<Musterd*>& servers, Duration limit = 30s);

[[nodiscard]] std::string uuid(unsigned n);
[[nodiscard]] v1::NodeInfo node(const std::string& id, unsigned generation = 1);

/// Short words for calls; the status is what the server answered.
grpc::Status register_node(Musterd& server, const v1::NodeInfo& node,
                           v1::RegisterNodeResponse* response = nullptr);
grpc::Status heartbeat(Musterd& server, const std::string& id, unsigned generation = 1,
                       v1::NodeState state = v1::NODE_STATE_ACTIVE,
                       v1::HeartbeatResponse* response = nullptr);
[[nodiscard]] v1::GetTopologyResponse topology(Musterd& server, bool linearizable = true);
[[nodiscard]] v1::HealthCheckResponse health(Musterd& server);
/// None when there is no such node.
[[nodiscard]] std::optional<v1::NodeInfo> find(const v1::GetTopologyResponse& topology,
                                               const std::string& id);
grpc::Status put(Musterd& server, const std::string& key, const std::string& value,
                 Duration timeout = 10s);
/// None when it is not there; fails the test when the call fails.
[[nodiscard]] std::optional<std::string> get(Musterd& server, const std::string& key);

}  // namespace muster::testing
