#include "store/open/open.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "store/etcd/etcd_store.h"
#include "store/file/file_store.h"
#include "store/memory/memory_store.h"
#include "store/muster/muster_store.h"
#include "store/postgres/postgres_store.h"
#include "store/s3/s3_store.h"
#include "store/url.h"

namespace muster {
namespace {

using Opened = Result<std::unique_ptr<ObjectStore>>;

Opened open_memory(const Url& url, EventLoop& loop, const StoreOptions&) {
  if (!url.hosts.empty() || !url.path.empty() || !url.query.empty()) {
    return {Errc::kInvalid, "a memory store has no name and no options: write memory:"};
  }
  return std::unique_ptr<ObjectStore>(std::make_unique<MemoryStore>(loop));
}

Opened open_file(const Url& url, EventLoop& loop, const StoreOptions&) {
  auto store = open_file_store(url, loop);
  if (!store) return store.error();
  return std::unique_ptr<ObjectStore>(std::move(*store));
}

Opened open_s3(const Url& url, EventLoop& loop, const StoreOptions&) {
  return open_s3_store(url, loop);
}

Opened open_etcd(const Url& url, EventLoop& loop, const StoreOptions& options) {
  EtcdOptions etcd;
  etcd.tls = options.tls;
  etcd.stop_when_gone_back = options.stop_when_gone_back;
  etcd.tls13_only = options.tls13_only;
  return open_etcd_store(url, etcd, loop);
}

Opened open_muster(const Url& url, EventLoop& loop, const StoreOptions& options) {
  MusterStoreOptions muster;
  muster.tls = options.tls;
  muster.stop_when_gone_back = options.stop_when_gone_back;
  return open_muster_store(url, muster, loop);
}

Opened open_postgres(const Url& url, EventLoop& loop, const StoreOptions& options) {
  PostgresOptions postgres;
  postgres.tls = options.tls;
  postgres.stop_when_gone_back = options.stop_when_gone_back;
  postgres.tls13_only = options.tls13_only;
  return open_postgres_store(url, postgres, loop);
}

struct Scheme {
  const char* name;
  Opened (*open)(const Url&, EventLoop&, const StoreOptions&);
};

constexpr std::array kSchemes{
    Scheme{"etcd", open_etcd},
    Scheme{"file", open_file},
    Scheme{"memory", open_memory},
    Scheme{"muster", open_muster},
    Scheme{"postgres", open_postgres},
    Scheme{"postgresql", open_postgres},
    Scheme{"s3", open_s3},
};

/// What people ask for and what is no arbiter, or is not built in.
struct Refused {
  const char* names[3];
  const char* why;
};

constexpr std::array kRefused{
    Refused{{"redis", "rediss", "valkey"},
            "it acknowledges writes that a failover loses, so two leaders could be elected; use "
            "s3, etcd or muster"},
    Refused{{"consul"},
            "there is no store for Consul; use etcd or muster, or register a store of your own "
            "(docs/writing-a-store.md)"},
    Refused{{"zookeeper", "zk"},
            "there is no store for ZooKeeper; use etcd or muster, or register a store of your own "
            "(docs/writing-a-store.md)"},
    Refused{{"mysql", "mariadb"},
            "there is no store for MySQL, and its default replication loses acknowledged writes in "
            "a failover; use s3, etcd or muster"},
    Refused{{"azblob", "azure"},
            "there is no store for Azure Blob Storage, which does not speak S3; use an S3 bucket, "
            "etcd or muster"},
    Refused{
        {"gs", "gcs"},
        "Google Cloud Storage honours If-Match for reads only, and there is no store for its own "
        "conditions; use an S3 bucket, etcd or muster"},
};

std::string refusal(const std::string& scheme) {
  for (const Refused& each : kRefused) {
    for (const char* name : each.names) {
      if (name != nullptr && scheme == name) return each.why;
    }
  }
  return {};
}

}  // namespace

bool is_built_in(std::string_view scheme) {
  return std::any_of(kSchemes.begin(), kSchemes.end(),
                     [scheme](const Scheme& known) { return scheme == known.name; });
}

Opened open_store(const std::string& text, EventLoop& loop, const StoreOptions& options) {
  const auto url = Url::parse(text);
  if (!url) return url.error();
  std::string known;
  for (const Scheme& scheme : kSchemes) {
    if (url->scheme == scheme.name) return scheme.open(*url, loop, options);
    known += (known.empty() ? "" : ", ") + std::string(scheme.name);
  }
  if (const std::string why = refusal(url->scheme); !why.empty())
    return {Errc::kInvalid, url->scheme + ":// cannot decide elections: " + why};
  return {Errc::kInvalid,
          "there is no store for the scheme \"" + url->scheme + "\"; known are " + known};
}

}  // namespace muster
