#pragma once

#include <memory>
#include <string>

#include "bench/rpc_load.h"
#include "tests/support/etcd_cluster.h"
#include "tests/support/musterd_cluster.h"

namespace muster::bench {

/// The servers under measurement: musterd on an etcd of its own, and a bare etcd beside it, each of
/// as many members. They share this machine and its disk with each other and with the clients.
struct ServerPair {
  /// `tmpfs`: without a disk under them.
  ServerPair(int members, bool tmpfs, std::vector<std::string> musterd_args = {});

  testing::EtcdCluster engine;
  testing::MusterdCluster musterd;
  testing::EtcdCluster etcd;
};

/// A call that failed would make every figure worthless: it ends the program with its message.
void expect_ok(const char* what, const CallEnd& end);

/// Requests as both sides take them. `bytes` is the size of the value.
[[nodiscard]] std::string key_of(std::size_t number);

/// One acknowledged write of `value` to a key; calls `done` at its end. A failure ends the program.
void etcd_put(const LinkPtr& link, std::size_t key, const std::string& value,
              std::function<void()> done);
void muster_put(const LinkPtr& link, std::size_t key, const std::string& value,
                std::function<void()> done);

[[nodiscard]] std::string node_id(std::size_t number);
[[nodiscard]] std::string generation_of(std::size_t number);
/// Registers nodes [begin, end), many at once; they are JOINING until they send heartbeats.
void register_nodes(RpcPump& pump, const LinkPtr& link, std::size_t begin, std::size_t end);

}  // namespace muster::bench
