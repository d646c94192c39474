#include "store/store.h"

#include <iterator>
#include <utility>

namespace muster {
namespace {

void list_rest(ObjectStore& store, std::string prefix, const Clock& clock, Duration timeout,
               ListPage so_far, Callback<ListPage> done) {
  std::string from = so_far.next;
  store.list(
      prefix, from, clock.now() + timeout,
      [&store, prefix, &clock, timeout, so_far = std::move(so_far),
       done = std::move(done)](Result<ListPage> page) mutable {
        if (!page) return done(std::move(page));
        std::move(page->objects.begin(), page->objects.end(), std::back_inserter(so_far.objects));
        so_far.next = std::move(page->next);
        if (so_far.cursor.empty()) so_far.cursor = std::move(page->cursor);
        if (so_far.next.empty()) return done(std::move(so_far));
        list_rest(store, std::move(prefix), clock, timeout, std::move(so_far), std::move(done));
      });
}

}  // namespace

void ObjectStore::inspect(Deadline, Callback<StoreInspection> done) {
  done(StoreInspection{});
}

std::unique_ptr<Watch> ObjectStore::watch(std::string, std::string,
                                          std::function<void(const WatchEvent&)>) {
  return nullptr;
}

void list_all(ObjectStore& store, std::string prefix, const Clock& clock, Duration timeout,
              Callback<ListPage> done) {
  list_rest(store, std::move(prefix), clock, timeout, {}, std::move(done));
}

}  // namespace muster
