#pragma once

#include <memory>

#include "base/time.h"
#include "server/web/metrics.h"
#include "store/store.h"

namespace muster::server {

/// Counts and times what is asked of a store, and changes nothing of it. Loop thread only.
class MeteredStore final : public ObjectStore {
 public:
  MeteredStore(std::unique_ptr<ObjectStore> store, const Clock& clock, Metrics& metrics)
      : store_(std::move(store)), clock_(clock), metrics_(metrics) {}

  [[nodiscard]] Capabilities capabilities() const override { return store_->capabilities(); }
  [[nodiscard]] std::string describe() const override { return store_->describe(); }
  [[nodiscard]] std::uint64_t history() const override { return store_->history(); }
  void inspect(Deadline by, Callback<StoreInspection> done) override {
    store_->inspect(by, std::move(done));
  }
  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override;
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override;
  void guarded_put(Key key, std::string body, Precondition when, ::muster::Guard guard, Deadline by,
                   Callback<Revision> done) override;
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override;
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override;
  std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                               std::function<void(const WatchEvent&)> on_event) override {
    return store_->watch(std::move(prefix), std::move(cursor), std::move(on_event));
  }

 private:
  template <typename T>
  Callback<T> timed(const char* operation, Callback<T> done);

  std::unique_ptr<ObjectStore> store_;
  const Clock& clock_;
  Metrics& metrics_;
};

}  // namespace muster::server
