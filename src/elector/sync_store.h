#pragma once

#include <string>

#include "base/loop.h"
#include "store/store.h"

namespace muster {

/// A blocking store, for plugins, programs and tests. Every call blocks until its answer or until
/// the timeout given at construction. Threads: any but the store's own loop.
class SyncStore {
 public:
  SyncStore(Loop& loop, ObjectStore& store, Duration timeout)
      : loop_(loop), store_(store), timeout_(timeout) {}

  [[nodiscard]] Result<Object> get(const Key& key, std::optional<Revision> unless = {});
  [[nodiscard]] Result<Revision> put(const Key& key, std::string body, Precondition when);
  [[nodiscard]] Result<Revision> guarded_put(const Key& key, std::string body, Precondition when,
                                             Guard guard);
  [[nodiscard]] Status remove(const Key& key, std::optional<Revision> when = {});
  [[nodiscard]] Result<ListPage> list(const std::string& prefix, const std::string& from = {});
  /// All pages, each within the timeout.
  [[nodiscard]] Result<ListPage> list_all(const std::string& prefix);

  [[nodiscard]] Capabilities capabilities() const { return store_.capabilities(); }
  [[nodiscard]] const Clock& clock() const { return loop_; }

 private:
  template <typename T, typename Call>
  Result<T> wait(Call call);

  Loop& loop_;
  ObjectStore& store_;
  Duration timeout_;
};

}  // namespace muster
