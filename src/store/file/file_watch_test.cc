#include <gmock/gmock.h>

#include <filesystem>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "store/file/test_client.h"

namespace muster::file {
namespace file_watch_test {

/// Keeps what a watch reports until the test asks for it.
class Recorder {
 public:
  Recorder(TestClient& client, const std::string& prefix, const std::string& cursor = {})
      : client_(client) {
    client_.loop().run([&] {
      watch_ = client_.store().watch(prefix, cursor, [this](const WatchEvent& event) {
        MutexLock lock(mutex_);
        events_.push_back(event);
        arrived_.notify_all();
      });
    });
  }
  ~Recorder() {
    client_.loop().run([&] { watch_.reset(); });
  }

  /// Waits until an event satisfies `wanted`, and returns all up to it.
  std::vector<WatchEvent> until(const std::function<bool(const WatchEvent&)>& wanted) {
    MutexLock lock(mutex_);
    while (true) {
      for (; looked_at_ < events_.size(); ++looked_at_) {
        if (!wanted(events_[looked_at_])) continue;
        ++looked_at_;
        return {events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(looked_at_)};
      }
      lock.wait(arrived_);
    }
  }
  std::vector<WatchEvent> until_body(const Key& key, const std::string& body) {
    return until([&](const WatchEvent& e) { return e.key == key && e.object.body == body; });
  }

 private:
  TestClient& client_;
  Mutex mutex_;
  std::condition_variable arrived_;
  std::vector<WatchEvent> events_ MUSTER_GUARDED_BY(mutex_);
  std::size_t looked_at_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<Watch> watch_;
};

using Kind = WatchEvent::Kind;

TEST(FileWatchTest, ChangesByAnotherStoreArriveInTheirOrder) {
  TempDir dir;
  TestClient watcher(dir.path()), writer(dir.path());
  Recorder recorder(watcher, "a/");
  ASSERT_TRUE(writer.put("b/not-watched", "x").ok());
  ASSERT_TRUE(writer.put("a/1", "one").ok());
  recorder.until_body("a/1", "one");
  // A directory made just now is as good as any other.
  ASSERT_TRUE(writer.put("a/new/deep/2", "two").ok());
  recorder.until_body("a/new/deep/2", "two");
  ASSERT_TRUE(writer.remove("a/1").ok());
  const auto events = recorder.until([](const auto& e) { return e.kind == Kind::kRemoved; });
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].key, "a/1");
}

TEST(FileWatchTest, EveryChangeAfterTheWatchBeganIsSeenAndNoneGoesBackwards) {
  TempDir dir;
  TestClient watcher(dir.path()), writer(dir.path());
  // From a cursor: "from now on" begins when the store gets to it.
  Recorder recorder(watcher, "", watcher.list("").value().cursor);
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(writer.put("k" + std::to_string(i % 7), std::to_string(i)).ok());
  }
  const auto events = recorder.until([](const auto& e) { return e.object.body == "499"; });
  int last = -1;
  std::map<std::string, int> newest;
  for (const WatchEvent& event : events) {
    ASSERT_EQ(event.kind, Kind::kPut);
    EXPECT_GT(std::stoi(event.object.body), last);
    last = std::stoi(event.object.body);
    newest[event.key] = last;
  }
  // Changes of one key may come as its last one, but that one comes.
  for (int i = 493; i < 500; ++i) EXPECT_EQ(newest["k" + std::to_string(i % 7)], i);
}

TEST(FileWatchTest, AWatchFromAListMissesNothing) {
  TempDir dir;
  TestClient client(dir.path());
  ASSERT_TRUE(client.put("a", "before").ok());
  const std::string cursor = client.list("").value().cursor;
  ASSERT_TRUE(client.put("b", "after").ok());
  ASSERT_TRUE(client.remove("a").ok());
  Recorder recorder(client, "", cursor);
  const auto events = recorder.until([](const auto& e) { return e.kind == Kind::kRemoved; });
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].object.body, "after");
  EXPECT_EQ(events[1].key, "a");
}

TEST(FileWatchTest, AChangeThatWasDamagedSinceIsReportedLikeAnyOther) {
  TempDir dir;
  TestClient client(dir.path());
  const std::string cursor = client.list("").value().cursor;
  ASSERT_TRUE(client.put("k", "body").ok());
  ASSERT_TRUE(client.put("next", "body").ok());
  std::filesystem::resize_file(dir.path() + "/objects/k", 0);
  Recorder recorder(client, "", cursor);
  const auto events = recorder.until_body("next", "body");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, Kind::kPut);
  EXPECT_EQ(events[0].key, "k");
  EXPECT_NE(events[0].object.damage, "");
  EXPECT_EQ(events[0].object.revision, client.get("k").value().revision);
}

TEST(FileWatchTest, AnEventsCursorResumesAfterIt) {
  TempDir dir;
  TestClient client(dir.path());
  std::string cursor;
  {
    Recorder recorder(client, "");
    ASSERT_TRUE(client.put("k", "1").ok());
    cursor = recorder.until_body("k", "1").back().cursor;
  }
  ASSERT_TRUE(client.put("k", "2").ok());
  ASSERT_TRUE(client.put("k", "3").ok());
  Recorder recorder(client, "", cursor);
  const auto events = recorder.until_body("k", "3");
  EXPECT_EQ(events.size(), 1u) << "changes of one key that nobody saw arrive as the last one";
}

TEST(FileWatchTest, ACursorThatCannotBeResumedIsAReset) {
  TempDir dir;
  TestClient client(dir.path());
  ASSERT_TRUE(client.put("k", "1").ok());
  const std::string cursor = client.list("").value().cursor;
  // More than the journal keeps.
  const std::string key(1000, 'k');
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(client.put(key, "x").ok());
  for (const std::string& stale : {cursor, std::string("nonsense"), std::string("1-2")}) {
    Recorder recorder(client, "", stale);
    const auto events = recorder.until([](const auto& e) { return e.kind == Kind::kReset; });
    ASSERT_EQ(events.size(), 1u);
    // The watch goes on from there.
    ASSERT_TRUE(client.put("next", stale).ok());
    recorder.until_body("next", stale);
  }
}

TEST(FileWatchTest, AJournalLostUnderAWatchIsAReset) {
  TempDir dir;
  TestClient watcher(dir.path()), writer(dir.path());
  ASSERT_TRUE(writer.put("k", "1").ok());
  Recorder recorder(watcher, "");
  ASSERT_TRUE(writer.put("k", "2").ok());
  recorder.until_body("k", "2");
  std::filesystem::resize_file(dir.path() + "/journal", 0);
  ASSERT_TRUE(writer.put("k", "3").ok());
  recorder.until([](const auto& e) { return e.kind == Kind::kReset; });
}

TEST(FileWatchTest, AWatchMayBeEndedFromItsOwnCallback) {
  TempDir dir;
  TestClient client(dir.path());
  std::promise<void> seen;
  int calls = 0;
  std::unique_ptr<Watch> watch;
  client.loop().run([&] {
    watch = client.store().watch("", "", [&](const WatchEvent&) {
      ++calls;
      watch.reset();
      seen.set_value();
    });
    for (int i = 0; i < 10; ++i) {
      client.store().put("k" + std::to_string(i), "x", {}, Deadline::max(), [](auto) {});
    }
  });
  seen.get_future().wait();
  ASSERT_TRUE(client.put("after", "x").ok());
  EXPECT_EQ(calls, 1);
}

TEST(FileWatchTest, AWatchThatOutlivesItsStoreIsSilent) {
  TempDir dir;
  LoopThread thread;
  std::unique_ptr<Watch> watch;
  thread.run([&] {
    auto store = open_file_store(Url::parse("file://" + dir.path()).value(), thread.loop()).value();
    watch = store->watch("", "", [](const WatchEvent&) { ADD_FAILURE() << "called"; });
  });
  TestClient writer(dir.path());
  ASSERT_TRUE(writer.put("k", "x").ok());
  thread.run([&] { watch.reset(); });
}

TEST(FileWatchTest, AfterItsDirectoryWasMadeAnewAWatchIsResetAndGoesOn) {
  TempDir dir;
  const std::string path = dir.path() + "/store";
  TestClient client(path);
  ASSERT_TRUE(client.put("k", "1").ok());
  Recorder recorder(client, "k");
  std::filesystem::remove_all(path);
  TestClient another(path);
  ASSERT_TRUE(another.put("k", "2").ok());
  EXPECT_EQ(client.get("k").value().body, "2");
  recorder.until([](const WatchEvent& e) { return e.kind == Kind::kReset; });
  ASSERT_TRUE(another.put("k", "3").ok());
  recorder.until_body("k", "3");
}

}  // namespace file_watch_test
}  // namespace muster::file
