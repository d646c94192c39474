#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/musterd.h"
#include "tests/support/child_process.h"

namespace muster::testing {

/// Servers that run their own Raft cluster underneath: s1, s2, ….
class ManagedScene : public ::testing::Test {
 protected:
  static constexpr std::size_t kServersMax = 6;

  ManagedScene() {
    for (int& port : ports_) port = free_port();
  }
  [[nodiscard]] static std::string name(std::size_t i) { return "s" + std::to_string(i + 1); }
  /// Where the engine of a server is reached; the network is this host's loopback unless it is
  /// said otherwise.
  [[nodiscard]] virtual std::string engine_host(std::size_t) const { return "127.0.0.1"; }
  [[nodiscard]] virtual MusterdPlace place(std::size_t) const { return {}; }

  [[nodiscard]] std::string peer(std::size_t i) const {
    return name(i) + "=" + engine_host(i) + ":" + std::to_string(ports_[i]);
  }
  [[nodiscard]] std::string peers(std::size_t count) const {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += (i == 0 ? "" : ",") + peer(i);
    return all;
  }
  [[nodiscard]] std::string data(std::size_t i) const { return dir_.path() / name(i); }

  /// The first members wait for each other, so they start together.
  void found(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) add(i, {"--peers", peers(count)}, false);
    for (std::size_t i = 0; i < count; ++i) servers_[i]->await(60s);
  }
  Musterd& add(std::size_t i, std::vector<std::string> words, bool wait = true) {
    words.insert(words.end(), {"--data-dir", data(i)});
    servers_.push_back(std::make_unique<Musterd>(name(i), "managed", dir_.path(), std::move(words),
                                                 false, place(i)));
    if (wait) servers_.back()->await(60s);
    return *servers_.back();
  }
  [[nodiscard]] std::vector<Musterd*> all() const {
    std::vector<Musterd*> result;
    for (const auto& each : servers_) result.push_back(each.get());
    return result;
  }
  /// All but these.
  [[nodiscard]] std::vector<Musterd*> others(const std::set<Musterd*>& without) const {
    std::vector<Musterd*> result = all();
    std::erase_if(result, [&](Musterd* each) { return without.contains(each); });
    return result;
  }
  [[nodiscard]] std::size_t number(const Musterd* server) const {
    std::size_t i = 0;
    while (servers_[i].get() != server) ++i;
    return i;
  }
  static bool writes(Musterd& server, const std::string& key, Duration limit = 40s) {
    return eventually([&] { return put(server, key, "v", 2s).ok(); }, limit);
  }

  TempDir dir_;
  int ports_[kServersMax];
  std::vector<std::unique_ptr<Musterd>> servers_;
};

/// A client that writes one new key after another, at whichever of the servers answers, each until
/// it is acknowledged.
class Writer {
 public:
  Writer(std::string name, std::vector<Musterd*> servers)
      : name_(std::move(name)), servers_(std::move(servers)), thread_([this] { run(); }) {}
  ~Writer() { finish(); }

  /// Stops; everything acknowledged so far.
  const std::vector<std::string>& finish() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
    return acknowledged_;
  }
  [[nodiscard]] int count() const { return count_; }
  /// Waits until so many more are acknowledged.
  [[nodiscard]] bool more(int wanted, Duration limit = 60s) const {
    const int before = count_;
    return eventually([&] { return count_ >= before + wanted; }, limit);
  }

 private:
  void run() {
    std::size_t at = 0;
    for (int i = 0; !stopped_; ++i) {
      const std::string key = name_ + "/" + std::to_string(i);
      bool done = false;
      while (!done && !stopped_) {
        done = put(*servers_[at % servers_.size()], key, "v", 2s).ok();
        if (!done) ++at;
      }
      if (!done) return;
      acknowledged_.push_back(key);
      ++count_;
    }
  }

  std::string name_;
  std::vector<Musterd*> servers_;
  std::atomic<bool> stopped_{false};
  std::atomic<int> count_{0};
  std::vector<std::string> acknowledged_;  ///< The thread's until it has ended.
  std::thread thread_;
};

/// Everything that a server has, no older than this call.
inline std::set<std::string> keys_of(Musterd& server) {
  std::set<std::string> keys;
  v1::StoreListRequest request;
  v1::StoreListResponse page;
  do {
    Context context;
    const grpc::Status status = server.store().List(&context, request, &page);
    EXPECT_TRUE(status.ok()) << server.id() << ": " << status.error_message();
    if (!status.ok()) return keys;
    for (const v1::StoreObject& each : page.objects()) keys.insert(each.key());
    if (!keys.empty()) request.set_after(*keys.rbegin());
  } while (page.more());
  return keys;
}

/// Every key on every server.
inline void expect_all(const std::vector<Musterd*>& servers, const std::vector<std::string>& keys) {
  for (Musterd* each : servers) {
    const std::set<std::string> there = keys_of(*each);
    for (const std::string& key : keys) {
      ASSERT_TRUE(there.contains(key)) << key << " is lost on " << each->id();
    }
  }
}

}  // namespace muster::testing
