// Real servers seen from outside: what eight clients were told while servers were killed, stopped
// and cut off, judged as one history. MUSTER_LINEARIZABILITY_ROUNDS says how many rounds.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "platform/system_clock.h"
#include "store/muster/muster_store.h"
#include "store/url.h"
#include "tests/linearizability/history.h"
#include "tests/server/musterd.h"
#include "tests/support/child_process.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/test_store.h"
#include "tests/support/watch_log.h"

namespace muster::testing {
namespace linearizability_test {

constexpr int kServers = 3;
constexpr int kClients = 8;
constexpr int kKeys = 4;
constexpr Duration kRound = 7s;

Duration now() {
  return boot_now().time_since_epoch();
}

/// Three servers on one directory, each reached through a proxy by clients and by the others.
class Cluster {
 public:
  Cluster() {
    const std::string engine = "file://" + (dir_.path() / "engine").string();
    for (int i = 0; i < kServers; ++i) {
      const std::string proxy = "127.0.0.1:" + std::to_string(proxies_[index(i)].port());
      servers_.push_back(std::make_unique<Musterd>(
          "s" + std::to_string(i + 1), engine, dir_.path(),
          std::vector<std::string>{"--advertise", proxy, "--snapshot-entries", "200"}, false));
      const std::string address = servers_.back()->address();
      proxies_[index(i)].forward_to(std::stoi(address.substr(address.find(':') + 1)));
      url_ += (i == 0 ? "muster://" : ",") + proxy;
    }
    for (auto& server : servers_) server->await();
  }

  [[nodiscard]] std::string url() const { return url_ + "/"; }

  /// One trouble, from its beginning to its end.
  void trouble(Random& random) {
    const std::size_t which = random.below(kServers);
    Musterd& server = *servers_[which];
    const Duration length = random.between(300ms, 2500ms);
    switch (random.below(4)) {
      case 0:
        server.kill();
        let_pass(length / 4);
        return server.start();
      case 1:
        server.freeze();
        let_pass(length);
        return server.thaw();
      case 2:
        proxies_[which].cut(true, true);
        break;
      default:
        proxies_[which].cut(random.chance(0.5), random.chance(0.5));
    }
    let_pass(length);
    proxies_[which].mend();
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  TempDir dir_;
  std::array<TcpProxy, kServers> proxies_;
  std::vector<std::unique_ptr<Musterd>> servers_;
  std::string url_;
};

/// What all clients were told.
class SharedHistory {
 public:
  template <typename F>
  auto with(F f) MUSTER_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return f(history_);
  }

 private:
  Mutex mutex_;
  history::History history_ MUSTER_GUARDED_BY(mutex_);
};

/// One client: reads, swaps, writes and removals of a few keys, one after another.
class Client {
 public:
  Client(const std::string& url, std::string name, std::uint64_t seed, SharedHistory& history)
      : name_(std::move(name)),
        random_(seed),
        history_(history),
        store_(thread_, [&](EventLoop& loop) {
          return std::move(*open_muster_store(*Url::parse(url), {}, loop));
        }) {
    store_.patience = 3s;
  }

  void act(const std::string& prefix) {
    const std::string key = prefix + std::to_string(random_.below(kKeys));
    const auto known = known_.find(key);
    const std::uint64_t choice = random_.below(100);
    if (known == known_.end() || choice < 40) {
      read(key);
    } else if (choice < 43) {
      put(key, Precondition::none());
    } else if (choice < 50 && known->second) {
      remove(key, *known->second);
    } else {
      put(key, known->second ? Precondition::at(*known->second) : Precondition::absent());
    }
  }
  void read(const std::string& key) {
    const auto id = history_.with([&](auto& history) { return history.read(key, now()); });
    const Result<Object> got = store_.get(key);
    history_.with([&](auto& history) { history.answered(id, got, now()); });
    if (got) {
      known_[key] = got->revision;
    } else if (got.is(Errc::kNotFound)) {
      known_[key] = std::nullopt;
    }
    reads += got || got.is(Errc::kNotFound) ? 1 : 0;
  }
  [[nodiscard]] TestStore& store() { return store_; }

  int reads = 0;
  int writes = 0;

 private:
  void put(const std::string& key, const Precondition& when) {
    const std::string value = name_ + "-" + std::to_string(++values_);
    const auto id =
        history_.with([&](auto& history) { return history.put(key, value, when, now()); });
    const Result<Revision> put = store_.put(key, value, when);
    history_.with([&](auto& history) { history.answered(id, put, now()); });
    known_.erase(key);
    if (!put) return;
    known_[key] = *put;
    ++writes;
  }
  void remove(const std::string& key, const Revision& when) {
    const auto id = history_.with([&](auto& history) { return history.remove(key, when, now()); });
    const Status removed = store_.remove(key, when);
    history_.with([&](auto& history) { history.answered(id, removed, now()); });
    known_.erase(key);
  }

  const std::string name_;
  Random random_;
  SharedHistory& history_;
  LoopThread thread_;
  TestStore store_;
  std::map<std::string, std::optional<Revision>> known_;
  int values_ = 0;
};

std::uint64_t number(const std::string& revision) {
  return std::stoull(revision);
}

/// Events come in the order of revisions, and none of what was acknowledged is left out.
void check_watch(WatchLog& watch, const std::set<std::uint64_t>& acknowledged) {
  if (acknowledged.empty()) return;
  EXPECT_TRUE(watch.wait([&](const WatchLog::EventList& seen) {
    return !seen.empty() && number(seen.back().cursor) >= *acknowledged.rbegin();
  })) << "a watch does not catch up";
  std::uint64_t last = 0;
  bool reset = false;
  std::set<std::uint64_t> told;
  for (const WatchEvent& event : watch.seen()) {
    reset |= event.kind == WatchEvent::Kind::kReset;
    EXPECT_GE(number(event.cursor), last);
    last = number(event.cursor);
    if (event.kind == WatchEvent::Kind::kPut) told.insert(number(event.object.revision.value()));
  }
  if (reset) return;
  for (const std::uint64_t revision : acknowledged) {
    EXPECT_TRUE(told.contains(revision)) << "a watch never told of " << revision;
  }
}

// Takes about 25 s: 3 rounds (MUSTER_LINEARIZABILITY_ROUNDS) of 7 s (kRound), each of which has
// room for several kills, stops and partitions, and the wait until all is healed.
TEST(LinearizabilityTest, HoldsThroughKillsStopsAndPartitions) {
  const char* wanted = std::getenv("MUSTER_LINEARIZABILITY_ROUNDS");
  const int rounds = wanted == nullptr ? 3 : std::atoi(wanted);
  ASSERT_GT(rounds, 0);
  const char* chosen = std::getenv("MUSTER_SEED");
  Random random(chosen == nullptr ? static_cast<std::uint64_t>(now().count())
                                  : std::strtoull(chosen, nullptr, 10));
  Cluster cluster;
  int reads = 0;
  int writes = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t seed = random.next();
    SCOPED_TRACE("round " + std::to_string(round));
    const std::string prefix = "r" + std::to_string(round) + "/k";
    SharedHistory history;
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.push_back(std::make_unique<Client>(cluster.url(), "c" + std::to_string(i),
                                                 seed + static_cast<std::uint64_t>(i), history));
    }
    ASSERT_TRUE(eventually([&] { return clients[0]->store().list(prefix).ok(); }));
    const Result<ListPage> start = clients[0]->store().list(prefix);
    ASSERT_TRUE(start.ok()) << start.error().message;
    WatchLog watch(clients[0]->store(), prefix, start->cursor);
    WatchLog other(clients[1]->store(), prefix, start->cursor);

    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (const auto& client : clients) {
      threads.emplace_back([&, &each = *client] {
        while (!stop) {
          each.act(prefix);
          let_pass(15ms);
        }
      });
    }
    const Duration end = now() + kRound;
    while (now() < end) cluster.trouble(random);
    stop = true;
    for (std::thread& thread : threads) thread.join();

    for (const auto& client : clients) {
      reads += client->reads;
      writes += client->writes;
    }
    std::cout << "round " << round << ": " << reads << " reads, " << writes << " writes so far\n";
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = prefix + std::to_string(i);
      EXPECT_TRUE(eventually([&] {
        const int before = clients[2]->reads;
        clients[2]->read(key);
        return clients[2]->reads > before;
      })) << "no read long after everything healed";
    }
    std::set<std::uint64_t> acknowledged;
    history.with([&](auto& all) {
      EXPECT_EQ(all.violation(), "") << "with the seed " << seed;
      for (const history::Operation& op : all.operations()) {
        if (op.kind == history::Operation::Kind::kPut &&
            op.outcome == history::Operation::Outcome::kOk) {
          acknowledged.insert(number(op.revision));
        }
      }
    });
    check_watch(watch, acknowledged);
    check_watch(other, acknowledged);
    watch.end();
    other.end();
    if (::testing::Test::HasFailure()) return;
  }
  // Not of each round: a server that is stopped while it holds the lock of the directory lets
  // nobody write until it goes on.
  EXPECT_GT(reads, 20 * rounds);
  EXPECT_GT(writes, 20 * rounds);
}

}  // namespace linearizability_test
}  // namespace muster::testing
