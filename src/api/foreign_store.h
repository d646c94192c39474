#pragma once

#include <muster/store.h>

#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/store_workers.h"
#include "base/loop.h"
#include "store/store.h"

namespace muster::api {

/// A program's own store, as the library uses it: its calls run on worker threads, end by their
/// deadlines whatever the store does, and what the store answers is checked before it is believed.
/// An answer that breaks a rule of the interface is kCorrupt, in a write kAmbiguous.
///
/// Without watches: changes are polled. Threads: loop thread only.
class ForeignStore final : public ObjectStore {
 public:
  /// Requires: 1 <= traits.threads <= 64.
  ForeignStore(Loop& loop, std::shared_ptr<api_v1::Store> store, api_v1::StoreTraits traits,
               std::string address);
  ~ForeignStore() override;

  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] std::string describe() const override { return address_; }
  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override;
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override;
  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override;
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override;
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override;

 private:
  /// A call under way. The callback stays on the loop's thread; workers know the id only.
  struct Pending {
    StoreWorkers::JobId job = 0;
    Loop::TimerId timer = 0;
    bool writes = false;
    const char* what = "";
    std::function<void(std::any)> finish;  ///< Takes a Result, or an Error.
  };
  /// The way back to the loop, for threads that may outlive it.
  struct Gate {
    Mutex mutex;
    Loop* loop MUSTER_GUARDED_BY(mutex) = nullptr;  ///< Null once nobody waits.
  };

  template <typename T>
  using Work = std::function<Result<T>(api_v1::Store&, Duration within)>;
  template <typename T>
  void call(const char* what, bool writes, Deadline by, Callback<T> done, Work<T> work);
  template <typename T>
  void refuse(Errc code, std::string why, Callback<T> done);
  void finish(std::uint64_t id, std::any result);
  void expire(std::uint64_t id);

  Loop& loop_;
  const api_v1::StoreTraits traits_;
  const std::string address_;
  std::shared_ptr<Gate> gate_;
  std::map<std::uint64_t, Pending> pending_;
  std::uint64_t next_id_ = 1;
  Lifetime lifetime_;
  StoreWorkers workers_;
};

}  // namespace muster::api
