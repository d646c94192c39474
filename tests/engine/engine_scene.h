#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/event_loop.h"
#include "server/engine/managed_engine.h"
#include "store/store.h"
#include "tests/support/child_process.h"

namespace muster::testing {

/// Managed engines of one cluster on one loop, each with a data directory and a peer address of its
/// own, and the way in which they ask each other for admission. Whatever etcd is left at the end
/// is a failure.
class EngineScene : public ::testing::Test {
 protected:
  struct Node {
    engine::EngineOptions options;
    std::unique_ptr<ManagedEngine> engine;
    std::optional<Result<std::string>> ready;
    std::optional<Error> ended;
  };

  EngineScene();
  ~EngineScene() override;

  /// A node that takes part in founding a cluster once all of `names` have been made.
  Node& make(const std::string& name);
  /// Makes nodes that found a cluster together.
  void make_cluster(const std::vector<std::string>& names);
  /// Makes a node that asks `server` for admission.
  Node& make_joiner(const std::string& name, const std::string& server);
  Node& node(const std::string& name) { return *nodes_.at(name); }

  /// Starts it, again if it was stopped.
  void start(const std::string& name);
  /// Waits until it is ready; a failure of the test when it is not.
  void await_ready(const std::string& name, Duration limit = 30s);
  void start_all();
  /// In order.
  void stop(const std::string& name);
  /// As if its process had been killed.
  void kill(const std::string& name) { node(name).engine.reset(); }
  /// Its data directory as on a new disk.
  void wipe(const std::string& name);

  /// Runs the loop until `holds`; false when it does not for long.
  bool until(const std::function<bool()>& holds, Duration limit = 30s);
  /// For so long, everything goes on.
  void pass(Duration time);

  [[nodiscard]] engine::Members members(const std::string& name);
  /// Opens the store of a node that is ready.
  std::unique_ptr<ObjectStore> open(const std::string& name);
  Result<Revision> put(ObjectStore& store, const std::string& key, const std::string& body);
  /// The body, or why there is none.
  std::string get(ObjectStore& store, const std::string& key);

  /// The processes of etcd below the scene's directory.
  [[nodiscard]] std::vector<pid_t> etcds() const;
  [[nodiscard]] pid_t etcd_of(const std::string& name) const;
  /// Makes a CA and one certificate of it, of this kind of key ("rsa" or "ec"), for loopback.
  TlsFiles make_certificates(const std::string& kind);

  /// The words that start the stand-in for musterd as a single server with its data in `data`.
  [[nodiscard]] std::vector<std::string> host_words(const std::string& data,
                                                    const std::vector<std::string>& more = {});
  /// A loopback port that stays ours.
  [[nodiscard]] std::uint16_t port();
  [[nodiscard]] std::string folder() const { return dir_.path(); }

  EventLoop loop;

 private:
  void ask(const std::vector<std::string>& contacts, const engine::Admission& request,
           const std::function<void(Result<engine::Members>)>& done);
  [[nodiscard]] std::vector<pid_t> processes_with(const std::string& word) const;

  TempDir dir_;
  std::vector<UniqueFd> held_ports_;
  std::map<std::string, std::unique_ptr<Node>> nodes_;
};

}  // namespace muster::testing
