// Watches: in order, without a gap, and silent once ended. A store without them says so by a null.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>

#include "platform/system_clock.h"
#include "tests/support/store_conformance.h"
#include "tests/support/watch_log.h"

namespace muster {
namespace {

using Kind = WatchEvent::Kind;

bool saw_put(const std::vector<WatchEvent>& events, const Key& key, const std::string& body) {
  return std::any_of(events.begin(), events.end(), [&](const WatchEvent& event) {
    return event.kind == Kind::kPut && event.key == key && event.object.body == body;
  });
}
bool saw(const std::vector<WatchEvent>& events, Kind kind) {
  return std::any_of(events.begin(), events.end(),
                     [&](const WatchEvent& event) { return event.kind == kind; });
}

/// Where a watch begins that misses nothing after now.
std::string cursor_now(TestStore& store) {
  const auto page = store.list("");
  EXPECT_TRUE(page);
  EXPECT_FALSE(page->cursor.empty());
  return page->cursor;
}

// Watches are null without the capability; every test here begins by asking.
#define MUSTER_NEEDS_WATCH()                                 \
  if (!capabilities().watch) {                               \
    EXPECT_EQ(store().watch("", "", [](auto&) {}), nullptr); \
    return;                                                  \
  }

TEST_P(StoreConformance, AWatchSeesOwnAndOthersChangesOfItsPrefix) {
  MUSTER_NEEDS_WATCH();
  WatchLog log(store(), "in/", cursor_now(store()));
  ASSERT_TRUE(log.running());
  const auto own = store().put("in/own", "by itself");
  ASSERT_TRUE(store().put("in", "not below the prefix"));
  ASSERT_TRUE(store().put("inside", "neither"));
  const auto foreign = other().put("in/foreign", "by another");
  ASSERT_TRUE(log.wait([](const auto& seen) {
    return saw_put(seen, "in/own", "by itself") && saw_put(seen, "in/foreign", "by another");
  }));
  for (const WatchEvent& event : log.seen()) {
    EXPECT_TRUE(event.key.starts_with("in/")) << event.key;
    EXPECT_EQ(event.object.revision, event.key == "in/own" ? *own : *foreign);
  }
}

TEST_P(StoreConformance, AWatchReportsTheChangesOfAKeyInOrder) {
  MUSTER_NEEDS_WATCH();
  WatchLog log(store(), "", cursor_now(store()));
  constexpr int kWrites = 50;
  for (int i = 0; i < kWrites; ++i) {
    TestStore& writer = i % 2 == 0 ? store() : other();
    ASSERT_TRUE(writer.put("key", std::to_string(i)));
  }
  ASSERT_TRUE(
      log.wait([](const auto& seen) { return saw_put(seen, "key", std::to_string(kWrites - 1)); }));
  // Some may have been merged into later ones, but time never runs backwards.
  int last = -1;
  for (const WatchEvent& event : log.seen()) {
    ASSERT_EQ(event.kind, Kind::kPut);
    EXPECT_GT(std::stoi(event.object.body), last);
    last = std::stoi(event.object.body);
  }
}

TEST_P(StoreConformance, ChangesOfDifferentKeysArriveInOneOrderWhereTheStoreHasOne) {
  MUSTER_NEEDS_WATCH();
  constexpr int kWrites = 50;
  WatchLog mine(store(), "", cursor_now(store()));
  WatchLog theirs(other(), "", cursor_now(other()));
  for (int i = 0; i < kWrites; ++i) {
    TestStore& writer = i % 3 == 0 ? store() : other();
    ASSERT_TRUE(writer.put("key" + std::to_string(i), "body"));
  }
  for (WatchLog* log : {&mine, &theirs}) {
    ASSERT_TRUE(log->wait([](const auto& seen) { return seen.size() >= kWrites; }));
    const auto seen = log->seen();
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(kWrites));
    if (!capabilities().multi_key_order) continue;
    for (std::size_t i = 0; i < kWrites; ++i) EXPECT_EQ(seen[i].key, "key" + std::to_string(i));
  }
}

TEST_P(StoreConformance, AWatchReportsARemoval) {
  MUSTER_NEEDS_WATCH();
  create("key");
  WatchLog log(store(), "", cursor_now(store()));
  ASSERT_TRUE(other().remove("key"));
  ASSERT_TRUE(log.wait([](const auto& seen) { return saw(seen, Kind::kRemoved); }));
  EXPECT_EQ(log.seen().back().key, "key");
}

// P16: what happens between a list and its watch is reported, or the watch says that it cannot.
TEST_P(StoreConformance, AWatchFromAListMissesNothingInBetween) {
  MUSTER_NEEDS_WATCH();
  create("before");
  const std::string cursor = cursor_now(store());
  ASSERT_TRUE(other().put("between", "1"));
  ASSERT_TRUE(other().put("between", "2"));
  WatchLog log(store(), "", cursor);
  ASSERT_TRUE(other().put("after", "3"));
  ASSERT_TRUE(log.wait([](const auto& seen) { return saw_put(seen, "after", "3"); }));
  EXPECT_TRUE(saw_put(log.seen(), "between", "2") || saw(log.seen(), Kind::kReset));
  for (const WatchEvent& event : log.seen()) EXPECT_NE(event.key, "before");
}

TEST_P(StoreConformance, ARemovalBetweenAListAndItsWatchIsNotLost) {
  MUSTER_NEEDS_WATCH();
  create("key");
  const std::string cursor = cursor_now(store());
  ASSERT_TRUE(other().remove("key"));
  WatchLog log(store(), "", cursor);
  EXPECT_TRUE(log.wait(
      [](const auto& seen) { return saw(seen, Kind::kRemoved) || saw(seen, Kind::kReset); }));
}

TEST_P(StoreConformance, AWatchResumesAfterAnEventWithoutRepeatingIt) {
  MUSTER_NEEDS_WATCH();
  std::string cursor;
  {
    WatchLog log(store(), "", cursor_now(store()));
    ASSERT_TRUE(store().put("first", "1"));
    ASSERT_TRUE(log.wait([](const auto& seen) { return saw_put(seen, "first", "1"); }));
    cursor = log.seen().back().cursor;
  }
  ASSERT_TRUE(other().put("second", "2"));
  WatchLog log(store(), "", cursor);
  ASSERT_TRUE(other().put("third", "3"));
  ASSERT_TRUE(log.wait([](const auto& seen) { return saw_put(seen, "third", "3"); }));
  EXPECT_TRUE(saw_put(log.seen(), "second", "2") || saw(log.seen(), Kind::kReset));
  for (const WatchEvent& event : log.seen()) EXPECT_NE(event.key, "first");
}

TEST_P(StoreConformance, AWatchFromNowOnReportsLaterChangesOnly) {
  MUSTER_NEEDS_WATCH();
  create("earlier");
  WatchLog log(store(), "", "");
  // "Now" is when the store has it; changes go on until one of them is later than that.
  for (int i = 0; i < 1000 && log.seen().empty(); ++i)
    ASSERT_TRUE(other().put("later", std::to_string(i)));
  ASSERT_TRUE(log.wait([](const auto& seen) { return !seen.empty(); }));
  for (const WatchEvent& event : log.seen()) EXPECT_EQ(event.key, "later");
}

TEST_P(StoreConformance, AnEndedWatchIsSilent) {
  MUSTER_NEEDS_WATCH();
  WatchLog ended(store(), "", cursor_now(store()));
  WatchLog running(store(), "", cursor_now(store()));
  ASSERT_TRUE(other().put("key", "first"));
  ASSERT_TRUE(ended.wait([](const auto& seen) { return saw_put(seen, "key", "first"); }));
  ended.end();
  const std::size_t before = ended.seen().size();
  ASSERT_TRUE(other().put("key", "second"));
  ASSERT_TRUE(running.wait([](const auto& seen) { return saw_put(seen, "key", "second"); }));
  EXPECT_EQ(ended.seen().size(), before);
}

TEST_P(StoreConformance, AWatchMayEndItselfFromItsOwnEvent) {
  MUSTER_NEEDS_WATCH();
  const std::string cursor = cursor_now(store());
  auto watch = std::make_shared<std::unique_ptr<Watch>>();
  auto events = std::make_shared<int>(0);
  *watch = store().watch("", cursor, [watch, events](const WatchEvent&) {
    ++*events;
    watch->reset();
  });
  WatchLog log(store(), "", cursor);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(other().put("key" + std::to_string(i), "body"));
  ASSERT_TRUE(log.wait([](const auto& seen) { return saw_put(seen, "key4", "body"); }));
  // Of two watches the one may hear of a change long after the other.
  const auto count = [&] {
    int seen = 0;
    store().thread().run([&] { seen = *events; });
    return seen;
  };
  const MonoTime limit = boot_now() + 30s;
  while (count() == 0 && boot_now() < limit) {
  }
  EXPECT_EQ(count(), 1);
}

#undef MUSTER_NEEDS_WATCH

}  // namespace
}  // namespace muster
