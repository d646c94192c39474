#include "testing/stage.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

namespace muster::testing_impl {
namespace {

using namespace std::chrono_literals;

std::string in_quotes(const std::string& text) {
  constexpr std::size_t kMost = 60;
  return "\"" + (text.size() <= kMost ? text : text.substr(0, kMost) + "…") + "\"";
}

std::string shown(const std::vector<std::string>& keys) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < keys.size() && i < kMost; ++i)
    text += (i == 0 ? "" : ", ") + in_quotes(keys[i]);
  if (keys.size() > kMost) text += ", … (" + std::to_string(keys.size()) + " keys)";
  return keys.empty() ? "nothing" : text;
}

}  // namespace

template <typename T>
T Handle::call(const std::string& what, std::function<T(pub::Store&, pub::Duration)> work) const {
  auto answer = std::make_shared<std::promise<T>>();
  std::future<T> answered = answer->get_future();
  std::thread([store = store_, within = within_, answer, work = std::move(work)] {
    try {
      answer->set_value(work(*store, within));
    } catch (...) {
      answer->set_exception(std::current_exception());
    }
  }).detach();
  // A loaded machine may be late; no store that keeps its time needs as much as this.
  if (answered.wait_for(std::max<pub::Duration>(2 * within_, 1s)) != std::future_status::ready) {
    throw Hung(what + " did not return; a call must end within the time that it is given");
  }
  try {
    return answered.get();
  } catch (const std::exception& thrown) {
    throw Broken(what + " has thrown: " + thrown.what());
  } catch (...) {
    throw Broken(what + " has thrown");
  }
}

pub::Result<pub::StoredObject> Handle::get(const std::string& key) const {
  auto found = call<pub::Result<pub::StoredObject>>(
      "get(" + in_quotes(key) + ")",
      [key](pub::Store& store, pub::Duration within) { return store.get(key, within); });
  expect(!found || !found->revision.empty(), "get(" + in_quotes(key) + ") returned no revision");
  return found;
}

pub::Result<std::string> Handle::put(const std::string& key, const std::string& body,
                                     const pub::WriteCondition& when) const {
  auto made = call<pub::Result<std::string>>(
      "put(" + in_quotes(key) + ")", [key, body, when](pub::Store& store, pub::Duration within) {
        return store.put(key, body, when, within);
      });
  expect(!made || !made->empty(), "put(" + in_quotes(key) + ") returned no revision");
  return made;
}

pub::Status Handle::remove(const std::string& key, const std::optional<std::string>& at) const {
  return call<pub::Status>(
      "remove(" + in_quotes(key) + ")",
      [key, at](pub::Store& store, pub::Duration within) { return store.remove(key, at, within); });
}

pub::Result<std::vector<pub::StoredKey>> Handle::list(const std::string& prefix,
                                                      const std::string& after,
                                                      std::size_t most) const {
  const std::string what = "list(" + in_quotes(prefix) + ")";
  auto listed = call<pub::Result<std::vector<pub::StoredKey>>>(
      what, [prefix, after, most](pub::Store& store, pub::Duration within) {
        return store.list(prefix, after, most, within);
      });
  if (!listed) return listed;
  expect(listed->size() <= most, what + " returned " + std::to_string(listed->size()) +
                                     " keys, and " + std::to_string(most) + " is the most");
  std::string before = after;
  for (const pub::StoredKey& each : *listed) {
    expect(each.key.starts_with(prefix),
           what + " returned " + in_quotes(each.key) + ", which does not begin so");
    expect(each.key > before, what + " returned " + in_quotes(each.key) + " after " +
                                  in_quotes(before) + "; keys come in byte order, each once");
    expect(!each.revision.empty(),
           what + " returned " + in_quotes(each.key) + " without a revision");
    before = each.key;
  }
  return listed;
}

Stage::Stage(const pub::testing::StoreUnderTest& store, std::string scope)
    : store_(store), scope_(std::move(scope)) {
  reopen();
}

Handle& Stage::open() {
  auto opened = store_.open(scope_);
  expect(opened.ok(), "the store could not be opened: " + opened.message());
  expect(*opened != nullptr, "the opener returned no store");
  handles_.push_back(std::make_unique<Handle>(*std::move(opened), store_.within));
  return *handles_.back();
}

void Stage::reopen() {
  handles_.clear();
  open();
  open();
}

std::string Stage::fresh_body() {
  return scope_ + " body " + std::to_string(++bodies_);
}

std::string Stage::create(const std::string& key) {
  return written(one(), key, fresh_body(), absent());
}

std::string Stage::written(const Handle& handle, const std::string& key, const std::string& body,
                           const pub::WriteCondition& when) {
  const auto made = handle.put(key, body, when);
  expect(made.ok(), "put(" + in_quotes(key) + ") " + outcome(made) + " and should have succeeded");
  return *made;
}

std::string Stage::body_of(const Handle& handle, const std::string& key) {
  const auto read = handle.get(key);
  expect(read.ok(), "get(" + in_quotes(key) + ") " + outcome(read) +
                        ", but the object had been written: a write was lost");
  return read->body;
}

std::vector<std::string> Stage::keys_under(const std::string& prefix, std::size_t most) {
  std::vector<std::string> keys;
  for (;;) {
    const auto page = two().list(prefix, keys.empty() ? "" : keys.back(), most);
    expect(page.ok(), "list(" + in_quotes(prefix) + ") " + outcome(page));
    for (const pub::StoredKey& each : *page) keys.push_back(each.key);
    if (page->size() < most) return keys;
  }
}

void Stage::expect_keys(const std::string& prefix, const std::vector<std::string>& keys,
                        std::size_t most) {
  const auto found = keys_under(prefix, most);
  expect(found == keys, "list(" + in_quotes(prefix) + ") in pages of " + std::to_string(most) +
                            " showed " + shown(found) + " instead of " + shown(keys));
}

void on_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::mutex mutex;
  std::exception_ptr thrown;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        thrown = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace muster::testing_impl
