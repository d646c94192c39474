#include "tests/coordinator/stores.h"

#include "base/check.h"
#include "platform/system_clock.h"
#include "tests/support/child_process.h"
#include "tests/support/etcd_cluster.h"
#include "tests/support/musterd_cluster.h"
#include "tests/support/postgres_server.h"
#include "tests/support/radosgw.h"

namespace muster {
namespace {

const testing::MusterdCluster& musterd() {
  static const testing::EtcdCluster engine;
  static const testing::MusterdCluster cluster = [] {
    testing::MusterdClusterOptions options;
    options.servers = 3;
    options.engine = engine.url("muster");
    return testing::MusterdCluster(options);
  }();
  return cluster;
}

}  // namespace

const std::vector<std::string>& store_kinds() {
  static const std::vector<std::string> kinds = {"s3", "file", "etcd", "muster", "postgres"};
  return kinds;
}

std::string fresh_store(const std::string& kind) {
  const std::string scope = "fleet-" + system_random().uuid();
  if (kind == "s3") return RadosGateway::shared().url(scope);
  if (kind == "file") {
    static const TempDir dir;
    return "file://" + (dir.path() / scope).string();
  }
  if (kind == "muster") return musterd().url(scope);
  if (kind == "postgres") {
    static const testing::PostgresServer server;
    return server.url(scope);
  }
  MUSTER_CHECK(kind == "etcd");
  static const testing::EtcdCluster cluster = [] {
    testing::EtcdClusterOptions options;
    options.members = 3;
    return testing::EtcdCluster(options);
  }();
  return cluster.url(scope);
}

}  // namespace muster
