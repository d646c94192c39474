#include "elector/sync_store.h"

#include <future>
#include <memory>
#include <utility>

namespace muster {

template <typename T, typename Call>
Result<T> SyncStore::wait(Call call) {
  // A store that is destroyed answers nothing any more; its promise is then broken, not lost.
  auto promise = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> answer = promise->get_future();
  loop_.post([this, call = std::move(call), promise]() mutable {
    call(store_, loop_.now() + timeout_, [promise = std::move(promise)](Result<T> result) {
      promise->set_value(std::move(result));
    });
  });
  promise.reset();
  try {
    return answer.get();
  } catch (const std::future_error&) {
    return {Errc::kCancelled, "the store was closed"};
  }
}

Result<Object> SyncStore::get(const Key& key, std::optional<Revision> unless) {
  return wait<Object>([=](ObjectStore& store, Deadline by, Callback<Object> done) {
    store.get(key, unless, by, std::move(done));
  });
}

Result<Revision> SyncStore::put(const Key& key, std::string body, Precondition when) {
  return wait<Revision>([=](ObjectStore& store, Deadline by, Callback<Revision> done) {
    store.put(key, body, when, by, std::move(done));
  });
}

Result<Revision> SyncStore::guarded_put(const Key& key, std::string body, Precondition when,
                                        Guard guard) {
  return wait<Revision>([=](ObjectStore& store, Deadline by, Callback<Revision> done) {
    store.guarded_put(key, body, when, guard, by, std::move(done));
  });
}

Status SyncStore::remove(const Key& key, std::optional<Revision> when) {
  return wait<Done>([=](ObjectStore& store, Deadline by, Callback<Done> done) {
    store.remove(key, when, by, std::move(done));
  });
}

Result<ListPage> SyncStore::list(const std::string& prefix, const std::string& from) {
  return wait<ListPage>([=](ObjectStore& store, Deadline by, Callback<ListPage> done) {
    store.list(prefix, from, by, std::move(done));
  });
}

Result<ListPage> SyncStore::list_all(const std::string& prefix) {
  return wait<ListPage>([=, this](ObjectStore& store, Deadline, Callback<ListPage> done) {
    muster::list_all(store, prefix, loop_, timeout_, std::move(done));
  });
}

}  // namespace muster
