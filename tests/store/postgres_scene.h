#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "platform/system_clock.h"
#include "store/open/open.h"
#include "store/probe.h"
#include "tests/support/postgres_server.h"
#include "tests/support/test_store.h"

namespace muster {
namespace postgres_failover_test {

inline TestStore::Open store_at(const std::string& url) {
  return [url](EventLoop& loop) {
    auto store = open_store(url, loop, {});
    return store ? std::move(*store) : nullptr;
  };
}

/// A store and what it answers within a generous time: servers start and end meanwhile.
class PostgresScene : public ::testing::Test {
 protected:
  TestStore& open(const std::string& url) {
    stores_.push_back(std::make_unique<TestStore>(thread_, store_at(url)));
    return *stores_.back();
  }
  StoreInspection inspect(TestStore& store) {
    const auto seen = store.await<StoreInspection>([&](Callback<StoreInspection> done) {
      store.store().inspect(store.deadline(), std::move(done));
    });
    EXPECT_TRUE(seen) << seen.error().message;
    return seen ? *seen : StoreInspection{};
  }
  Status probe(TestStore& store) {
    Random random = system_random();
    return store.await<Done>([&](Callback<Done> done) {
      probe_store(store.store(), thread_.loop(), random, 5s, std::move(done));
    });
  }
  /// Waits until a read has an answer.
  static Result<Object> read(TestStore& store, const Key& key) {
    const MonoTime by = boot_now() + 30s;
    auto object = store.get(key);
    while (object.is(Errc::kUnavailable) && boot_now() < by) object = store.get(key);
    return object;
  }

  LoopThread thread_;
  std::vector<std::unique_ptr<TestStore>> stores_;
};

}  // namespace postgres_failover_test
}  // namespace muster
