#include "store/open/open.h"

#include <array>
#include <utility>

#include "store/etcd/etcd_store.h"
#include "store/file/file_store.h"
#include "store/memory/memory_store.h"
#include "store/muster/muster_store.h"
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

struct Scheme {
  const char* name;
  Opened (*open)(const Url&, EventLoop&, const StoreOptions&);
};

constexpr std::array kSchemes{
    Scheme{"etcd", open_etcd},     Scheme{"file", open_file}, Scheme{"memory", open_memory},
    Scheme{"muster", open_muster}, Scheme{"s3", open_s3},
};

}  // namespace

Opened open_store(const std::string& text, EventLoop& loop, const StoreOptions& options) {
  const auto url = Url::parse(text);
  if (!url) return url.error();
  std::string known;
  for (const Scheme& scheme : kSchemes) {
    if (url->scheme == scheme.name) return scheme.open(*url, loop, options);
    known += (known.empty() ? "" : ", ") + std::string(scheme.name);
  }
  return {Errc::kInvalid,
          "there is no store for the scheme \"" + url->scheme + "\"; known are " + known};
}

}  // namespace muster
