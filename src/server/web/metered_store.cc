#include "server/web/metered_store.h"

#include <algorithm>
#include <string>
#include <utility>

namespace muster::server {
namespace {

/// "not_found": values of labels hold no spaces.
std::string outcome(Errc code) {
  std::string text = to_string(code);
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

}  // namespace

template <typename T>
Callback<T> MeteredStore::timed(const char* operation, Callback<T> done) {
  return [this, operation, began = clock_.now(), done = std::move(done)](Result<T> answer) {
    metrics_.store_answered(operation, answer ? "ok" : outcome(answer.code()),
                            clock_.now() - began);
    done(std::move(answer));
  };
}

void MeteredStore::get(Key key, std::optional<Revision> unless, Deadline by,
                       Callback<Object> done) {
  store_->get(std::move(key), std::move(unless), by, timed("get", std::move(done)));
}

void MeteredStore::put(Key key, std::string body, Precondition when, Deadline by,
                       Callback<Revision> done) {
  store_->put(std::move(key), std::move(body), std::move(when), by, timed("put", std::move(done)));
}

void MeteredStore::guarded_put(Key key, std::string body, Precondition when, ::muster::Guard guard,
                               Deadline by, Callback<Revision> done) {
  store_->guarded_put(std::move(key), std::move(body), std::move(when), std::move(guard), by,
                      timed("guarded_put", std::move(done)));
}

void MeteredStore::remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) {
  store_->remove(std::move(key), std::move(when), by, timed("remove", std::move(done)));
}

void MeteredStore::list(std::string prefix, std::string from, Deadline by,
                        Callback<ListPage> done) {
  store_->list(std::move(prefix), std::move(from), by, timed("list", std::move(done)));
}

}  // namespace muster::server
