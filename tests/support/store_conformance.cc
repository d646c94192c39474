#include "tests/support/store_conformance.h"

#include <cstdio>
#include <map>

#include "platform/system_clock.h"
#include "store/memory/memory_store.h"
#include "store/open/open.h"
#include "store/probe.h"

namespace muster {

void StoreConformance::SetUp() {
  scope_ = "suite-" + system_random().uuid();
  open_handle();
  open_handle();
}

void StoreConformance::TearDown() {
  handles_.clear();
  threads_.clear();
}

TestStore& StoreConformance::open_handle() {
  if (threads_.empty() || many_threads()) threads_.push_back(std::make_unique<LoopThread>());
  const auto open = [this](EventLoop& loop) { return GetParam().open(loop, scope_); };
  handles_.push_back(std::make_unique<TestStore>(*threads_.back(), open));
  const Status safe = probe(*handles_.back());
  if (!safe) ADD_FAILURE() << safe.error().message;
  return *handles_.back();
}

std::string StoreConformance::fresh_body() {
  return scope_ + " body " + std::to_string(++bodies_);
}

Revision StoreConformance::create(const Key& key) {
  const Result<Revision> made = store().put(key, fresh_body(), Precondition::absent());
  if (made) return *made;
  ADD_FAILURE() << "creating " << key << ": " << made.error().message;
  return {};
}

std::vector<Key> StoreConformance::keys_under(const std::string& prefix) {
  const Result<ListPage> listed = store().list_all(prefix);
  std::vector<Key> keys;
  if (!listed) {
    ADD_FAILURE() << "listing " << prefix << ": " << listed.error().message;
    return keys;
  }
  for (const ListedObject& object : listed->objects) keys.push_back(object.key);
  return keys;
}

StoreFactory memory_store_factory() {
  auto scopes = std::make_shared<std::map<std::string, std::shared_ptr<MemoryObjects>>>();
  const auto open = [scopes](EventLoop& loop, const std::string& scope) {
    auto& objects = (*scopes)[scope];
    if (!objects) objects = std::make_shared<MemoryObjects>();
    return std::make_unique<MemoryStore>(loop, objects);
  };
  return {.name = "memory", .open = open, .many_threads = false};
}

StoreFactory url_store_factory(std::string name,
                               std::function<std::string(const std::string&)> url) {
  const auto open = [url](EventLoop& loop, const std::string& scope) {
    return open_url(url(scope))(loop);
  };
  return {.name = std::move(name), .open = open};
}

TestStore::Open open_url(std::string url) {
  return [url = std::move(url)](EventLoop& loop) {
    auto opened = open_store(url, loop, {});
    if (!opened) std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    MUSTER_CHECK(opened);
    return std::move(*opened);
  };
}

Status probe(TestStore& store) {
  Random random = system_random();
  return store.await<Done>([&](Callback<Done> done) {
    probe_store(store.store(), store.thread().loop(), random, store.patience, std::move(done));
  });
}

}  // namespace muster
