#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "platform/event_loop.h"
#include "store/store.h"
#include "tests/support/test_store.h"

namespace muster {

/// How the conformance suite comes by the store under test.
struct StoreFactory {
  std::string name;
  /// A handle on the data called `scope`: handles of one scope share it, a new scope is empty.
  std::function<std::unique_ptr<ObjectStore>(EventLoop& loop, const std::string& scope)> open;
  /// Handles on one scope may live on different threads.
  bool many_threads = true;
  /// The largest body that it must keep: 512 KiB, which is what one entry of a log may hold, unless
  /// nobody keeps a log in it.
  std::size_t largest_body = 512 * 1024;
  /// Replaces the bytes that keep `key` of `scope` by what `change` makes of them, past the store;
  /// empty where a test cannot come at them.
  std::function<void(const std::string& scope, const Key& key,
                     const std::function<std::string(std::string)>& change)>
      damage = {};
};

inline void PrintTo(const StoreFactory& factory, std::ostream* out) {
  *out << factory.name;
}

/// What every store must do, whatever it is made of. A test program links muster_conformance, says
/// INSTANTIATE_TEST_SUITE_P(Name, StoreConformance, ::testing::Values(factory)), and has the suite.
///
/// Bodies are unique wherever a revision matters: revisions may be hashes of bodies, and the
/// interface asks for bodies never written before.
class StoreConformance : public ::testing::TestWithParam<StoreFactory> {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// The first handle, and a second one on the same data.
  TestStore& store() { return *handles_.at(0); }
  TestStore& other() { return *handles_.at(1); }
  /// One more handle on the same data, on a thread of its own where the store allows that.
  TestStore& open_handle();
  [[nodiscard]] bool many_threads() const { return GetParam().many_threads; }
  [[nodiscard]] Capabilities capabilities() { return store().capabilities(); }

  /// Runs a check of muster/testing/store_conformance.h, which programs run on stores of their own.
  void keeps_promise(const std::string& check);
  /// A body never written before.
  std::string fresh_body();
  /// Creates `key` and answers with its revision.
  Revision create(const Key& key);
  /// Changes the stored bytes of `key` past the store, which must be able to tell.
  void damage_object(const Key& key, const std::function<std::string(std::string)>& change) const {
    GetParam().damage(scope_, key, change);
  }
  /// The keys under `prefix`, through all pages.
  std::vector<Key> keys_under(const std::string& prefix);

 private:
  std::string scope_;
  std::uint64_t bodies_ = 0;
  std::vector<std::unique_ptr<LoopThread>> threads_;
  std::vector<std::unique_ptr<TestStore>> handles_;
};

/// The cases for a store that a test can damage, with StoreFactory::damage.
class StoreDamageConformance : public StoreConformance {};

/// Several handles on one memory store. They share one thread.
[[nodiscard]] StoreFactory memory_store_factory();

/// A store by its address, which `url` gives for a scope each time a handle is opened.
[[nodiscard]] StoreFactory url_store_factory(std::string name,
                                             std::function<std::string(const std::string&)> url);

/// Opens a store by its address for TestStore; an address that is no good ends the process.
[[nodiscard]] TestStore::Open open_url(std::string url);

/// Runs the probe on a store. Every handle of the suite begins so, as every campaign does.
[[nodiscard]] Status probe(TestStore& store);

}  // namespace muster
