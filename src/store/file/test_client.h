#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "platform/event_loop.h"
#include "store/file/file_store.h"

namespace muster::file {

/// A directory that goes with the test.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-file-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary directory";
    path_ = pattern;
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A file store on a loop thread of its own, called from the test's thread as if it blocked.
class TestClient {
 public:
  explicit TestClient(const std::string& path, const std::string& options = "?sync=off") {
    const Url url = Url::parse("file://" + path + options).value();
    loop_.run([&] {
      auto opened = open_file_store(url, loop_.loop());
      if (opened) {
        store_ = std::move(*opened);
      } else {
        error_ = opened.error();
      }
    });
  }
  ~TestClient() {
    loop_.run([&] { store_.reset(); });
  }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  Result<Object> get(const Key& key, std::optional<Revision> unless = {}, Duration limit = 20s) {
    return await<Object>(
        limit, [&](Deadline by, auto done) { store_->get(key, unless, by, std::move(done)); });
  }
  Result<Revision> put(const Key& key, const std::string& body, Precondition when = {},
                       Duration limit = 20s) {
    return await<Revision>(
        limit, [&](Deadline by, auto done) { store_->put(key, body, when, by, std::move(done)); });
  }
  Result<Revision> guarded_put(const Key& key, const std::string& body, Precondition when,
                               Guard guard) {
    return await<Revision>(20s, [&](Deadline by, auto done) {
      store_->guarded_put(key, body, when, guard, by, std::move(done));
    });
  }
  Status remove(const Key& key, std::optional<Revision> when = {}) {
    return await<Done>(
        20s, [&](Deadline by, auto done) { store_->remove(key, when, by, std::move(done)); });
  }
  Result<ListPage> list(const std::string& prefix, const std::string& from = {}) {
    return await<ListPage>(
        20s, [&](Deadline by, auto done) { store_->list(prefix, from, by, std::move(done)); });
  }
  Result<ListPage> list_all(const std::string& prefix) {
    return await<ListPage>(20s, [&](Deadline, auto done) {
      muster::list_all(*store_, prefix, loop_.loop(), 20s, std::move(done));
    });
  }

  /// Runs `start` on the loop with a deadline and a callback, and waits for that callback.
  template <typename T>
  Result<T> await(Duration limit, const std::function<void(Deadline, Callback<T>)>& start) {
    auto result = std::make_shared<std::promise<Result<T>>>();
    auto future = result->get_future();
    loop_.run([&] {
      start(loop_.loop().now() + limit, [result](Result<T> r) { result->set_value(std::move(r)); });
    });
    return future.get();
  }

  [[nodiscard]] FileStore& store() { return *store_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] LoopThread& loop() { return loop_; }

 private:
  LoopThread loop_;
  std::unique_ptr<FileStore> store_;
  std::optional<Error> error_;
};

}  // namespace muster::file
