#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "candidate/candidate.h"
#include "candidate/candidate_test_work.h"
#include "client/agent_session.h"
#include "client/caller.h"
#include "client/watch_session.h"
#include "coordinator/namespace_coordinator.h"
#include "server/cluster_peer.h"
#include "server/security/access_control.h"
#include "server/web/metrics.h"
#include "server/web/observer.h"
#include "sim/faulty_store.h"
#include "tests/sim/cluster/cluster_store.h"
#include "tests/sim/cluster/invariants.h"
#include "tests/sim/cluster/transport.h"

namespace muster::sim {

/// What every host of the simulation lives in.
struct Setting {
  World& world;
  Network& network;
  std::shared_ptr<SharedStore> store;
  Invariants& invariants;
  ServerConfig server;               ///< As every server is configured, but for its id.
  std::vector<std::string> servers;  ///< Their addresses.
  WorkJournal& journal;
  double slew;
  /// The one other engine as that server sees it, whatever its address; empty: there is none.
  std::function<std::shared_ptr<SharedStore>(const std::string& server)> target{};
  /// A server cannot go on, and goes. Empty: that is a violation.
  std::function<void(const std::string& server, const Error& why)> on_fatal{};
};

/// A machine on which one process at a time runs. Killing it is what a crash does; starting it
/// again begins a process that remembers nothing.
class Host {
 public:
  Host(Setting& setting, std::string name) : setting_(setting), name_(std::move(name)) {}
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void start();
  void kill();
  [[nodiscard]] bool runs() const { return process_ != nullptr; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Only while it runs.
  [[nodiscard]] Process& process() { return *process_; }
  /// Which process it is: 1, 2, …
  [[nodiscard]] int life() const { return life_; }

 protected:
  virtual void begin() = 0;
  virtual void end() = 0;
  /// The process is about to be gone; anyone who outlives it takes it along.
  virtual void bury(std::unique_ptr<Process> process) { process.reset(); }
  [[nodiscard]] Random random() { return Random(setting_.world.random().next()); }
  /// Of the process that runs.
  [[nodiscard]] double rate() const { return rate_; }

  Setting& setting_;
  const std::string name_;
  std::unique_ptr<Process> process_;

 private:
  int life_ = 0;
  double rate_ = 1;
};

/// What hosts that use the engine themselves have in common.
class EngineHost : public Host {
 public:
  using Host::Host;
  /// Only while it runs.
  void set_cut_off(bool cut_off) { store_->set_cut_off(cut_off); }

 protected:
  void begin() override;
  void end() override { store_.reset(); }

  std::unique_ptr<FaultyStore> store_;
};

/// One musterd: the server as it is, on a simulated engine and network.
class ServerHost final : public EngineHost {
 public:
  using EngineHost::EngineHost;
  ~ServerHost() override { kill(); }
  [[nodiscard]] const server::ClusterPeer& peer() const { return *peer_; }
  /// In order, then `stopped`, from within the process.
  void stop(std::function<void()> stopped) { peer_->stop(std::move(stopped)); }

 private:
  void begin() override;
  void end() override;

  std::unique_ptr<SimPeers> peers_;
  server::Metrics metrics_;  ///< One for all its lives.
  std::unique_ptr<server::AccessControl> access_;
  std::unique_ptr<server::Observer> observer_;
  std::unique_ptr<server::ClusterPeer> peer_;
};

/// What hosts that are clients of musterd have in common.
class ClientHost : public Host {
 public:
  using Host::Host;
  /// How long one server gets to answer; a call may take some of these.
  Duration patience = 1500ms;

 protected:
  void begin() override;
  void end() override;

  std::unique_ptr<SimTransport> transport_;
  std::unique_ptr<client::Caller> caller_;
};

/// An agent that registers some nodes and beats for them.
class AgentHost final : public ClientHost {
 public:
  AgentHost(Setting& setting, std::string name, std::vector<int> nodes)
      : ClientHost(setting, std::move(name)), nodes_(std::move(nodes)) {}
  ~AgentHost() override { kill(); }
  /// From within the process.
  void set_draining(std::size_t which, bool draining);
  void remove(std::size_t which);
  void add(std::size_t which);
  [[nodiscard]] const std::vector<int>& nodes() const { return nodes_; }
  [[nodiscard]] NodeId id(std::size_t which) const;
  /// What must be in the topology, and ACTIVE, once everything is well.
  [[nodiscard]] bool expects(std::size_t which) const {
    return runs() && session_->machine().generation(id(which)).has_value();
  }

 private:
  void begin() override;
  void end() override;
  void heard(const std::string& method, bool sent, const std::string& message);

  const std::vector<int> nodes_;
  std::unique_ptr<client::AgentSession> session_;
  std::vector<std::pair<NodeId, membership::Generation>> batch_;  ///< The last one sent.
  TrueTime batch_sent_{0};
};

/// Watches the nodes of some services, and everything in the store under one prefix.
class WatcherHost final : public ClientHost {
 public:
  WatcherHost(Setting& setting, std::string name, membership::ServiceFilter services)
      : ClientHost(setting, std::move(name)), services_(std::move(services)) {}
  ~WatcherHost() override { kill(); }
  [[nodiscard]] TopologyVersion version() const { return version_; }

 private:
  void begin() override;
  void end() override;
  void open_store_watch();
  void store_heard(const std::string& message);

  const membership::ServiceFilter services_;
  std::unique_ptr<client::WatchSession> session_;
  TopologyVersion version_;
  std::unique_ptr<client::Stream> store_stream_;
  std::unique_ptr<Timer> store_timer_;
  std::uint64_t store_at_ = 0;
};

/// Reads, writes, swaps and removes a few keys, one call after another.
class StoreClientHost final : public ClientHost {
 public:
  using ClientHost::ClientHost;
  ~StoreClientHost() override { kill(); }
  [[nodiscard]] TrueTime last_written() const { return last_written_; }
  [[nodiscard]] TrueTime last_read() const { return last_read_; }
  /// The call under way is sent twice.
  void resent();

 private:
  void begin() override;
  void end() override;
  void next();
  void act();
  void read(const std::string& key);
  void put(const std::string& key, Precondition when);
  void remove(const std::string& key, std::optional<Revision> when);

  std::unique_ptr<ClusterStore> store_;
  std::unique_ptr<Timer> timer_;
  std::map<std::string, std::optional<Revision>> known_;  ///< None: it is not there.
  std::optional<history::History::Id> writing_;           ///< The write under way.
  int writes_ = 0;
  TrueTime last_written_{0};
  TrueTime last_read_{0};
};

/// What an operator asks for now and then; nobody waits for the answers.
class OperatorHost final : public ClientHost {
 public:
  using ClientHost::ClientHost;
  ~OperatorHost() override { kill(); }
  void drain(const NodeId& node, bool cancel);
  void transfer_leadership();
  void set_ring(std::uint32_t virtual_nodes);

 private:
  void ask(client::WireRequest request);
};

/// A candidate for one singleton piece of work, with musterd's store as its arbiter.
class CandidateHost final : public ClientHost {
 public:
  using ClientHost::ClientHost;
  ~CandidateHost() override { kill(); }
  [[nodiscard]] bool leads() const { return candidate_ && candidate_->leads(); }

 private:
  void begin() override;
  void end() override;
  void bury(std::unique_ptr<Process> process) override;

  std::unique_ptr<ClusterStore> store_;
  std::unique_ptr<SimulatedWork> work_;
  std::unique_ptr<Candidate> candidate_;
  /// Of processes that are gone: their guardians may still be at it.
  std::vector<std::pair<std::unique_ptr<Process>, std::unique_ptr<SimulatedWork>>> orphans_;
};

/// A worker of the coordinator library, with the engine itself as its arbiter.
class WorkerHost final : public EngineHost {
 public:
  using EngineHost::EngineHost;
  ~WorkerHost() override { kill(); }
  [[nodiscard]] const NamespaceCoordinator& coordinator() const { return *coordinator_; }

 private:
  void begin() override;
  void end() override;

  std::unique_ptr<NamespaceCoordinator> coordinator_;
};

}  // namespace muster::sim
