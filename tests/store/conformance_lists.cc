// Keys and lists: which names are possible, and what a prefix shows of them.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>

#include "tests/support/store_conformance.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_P(StoreConformance, KeysMayHoldWhatUrlsAndPathsMustEscape) {
  const std::vector<Key> keys = {
      "plugin=coordinator/namespace=a b/state.json",
      "plus+and&ampersand",
      "percent%41and%2F",
      "caf\xc3\xa9/\xe2\x82\xac",
      "dots/a..b",
      "dots/..a",
      "dots/.hidden",
      "question?mark#hash",
      "quote'\"<>&amp;",
      "back\\slash",
      "colon:semi;comma,at@dollar$bang!star*tilde~(paren)[square]{curly}|bar^caret`tick",
  };
  for (const Key& key : keys) {
    const auto made = store().put(key, "body of " + key, Precondition::absent());
    ASSERT_TRUE(made) << key << ": " << made.error().message;
  }
  for (const Key& key : keys) {
    const auto read = other().get(key);
    ASSERT_TRUE(read) << key << ": " << read.error().message;
    EXPECT_EQ(read->body, "body of " + key);
    EXPECT_THAT(keys_under(key), ElementsAre(key));
    EXPECT_TRUE(store().put(key, fresh_body(), Precondition::at(read->revision))) << key;
  }
  std::vector<Key> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(keys_under(""), sorted);
  for (const Key& key : keys) EXPECT_TRUE(store().remove(key)) << key;
  EXPECT_THAT(keys_under(""), IsEmpty());
}

TEST_P(StoreConformance, LongKeysAreKeptApart) {
  // One part of 900 bytes, and many parts; each pair differs in its last byte only.
  std::string parts;
  while (parts.size() < 850) parts += std::string(49, 'p') + "/";
  const std::string one(899, 'k');
  for (const std::string& stem : {one, parts}) {
    ASSERT_TRUE(store().put(stem + "a", "a", Precondition::absent()));
    ASSERT_TRUE(store().put(stem + "b", "b", Precondition::absent()));
    EXPECT_EQ(other().get(stem + "a")->body, "a");
    EXPECT_EQ(other().get(stem + "b")->body, "b");
    EXPECT_THAT(keys_under(stem), ElementsAre(stem + "a", stem + "b"));
  }
}

TEST_P(StoreConformance, AKeyMayBeginAnotherKeysPath) {
  ASSERT_TRUE(store().put("a", "leaf", Precondition::absent()));
  ASSERT_TRUE(store().put("a/b", "below", Precondition::absent()));
  ASSERT_TRUE(store().put("a/b/c", "further below", Precondition::absent()));
  EXPECT_EQ(store().get("a")->body, "leaf");
  EXPECT_EQ(store().get("a/b")->body, "below");
  ASSERT_TRUE(store().remove("a/b"));
  EXPECT_THAT(keys_under(""), ElementsAre("a", "a/b/c"));
}

TEST_P(StoreConformance, NoKeyLeadsOutOfItsPlace) {
  ASSERT_TRUE(store().put("y", "own", Precondition::absent()));
  for (const char* key : {"x/../y", "../y", "x/./y", "./y"}) {
    const auto written = store().put(key, "other");
    EXPECT_TRUE(written || written.is(Errc::kInvalid)) << key << ": " << written.error().message;
  }
  EXPECT_EQ(store().get("y")->body, "own");
}

TEST_P(StoreConformance, KeysThatDifferOnlyInCaseAreTwo) {
  ASSERT_TRUE(store().put("Key", "upper", Precondition::absent()));
  ASSERT_TRUE(store().put("key", "lower", Precondition::absent()));
  EXPECT_EQ(store().get("Key")->body, "upper");
}

TEST_P(StoreConformance, AListShowsItsPrefixOnlyInByteOrder) {
  for (const char* key : {"b", "ab", "a", "a/2", "a/10", "a/1", "a-b", "B", "a\xc3\xa9"})
    create(key);
  EXPECT_THAT(keys_under(""),
              ElementsAre("B", "a", "a-b", "a/1", "a/10", "a/2", "ab", "a\xc3\xa9", "b"));
  EXPECT_THAT(keys_under("a"), ElementsAre("a", "a-b", "a/1", "a/10", "a/2", "ab", "a\xc3\xa9"));
  EXPECT_THAT(keys_under("a/"), ElementsAre("a/1", "a/10", "a/2"));
  EXPECT_THAT(keys_under("a/1"), ElementsAre("a/1", "a/10"));
  EXPECT_THAT(keys_under("ab"), ElementsAre("ab"));
  EXPECT_THAT(keys_under("c"), IsEmpty());
}

TEST_P(StoreConformance, AListShowsWritesAndRemovalsAtOnceAndWithTheirRevisions) {
  for (int i = 0; i < 10; ++i) {
    const auto written = store().put("key", fresh_body());
    ASSERT_TRUE(written);
    const auto page = other().list("key");
    ASSERT_TRUE(page) << page.error().message;
    ASSERT_EQ(page->objects.size(), 1u);
    EXPECT_EQ(page->objects[0].revision, *written);
    ASSERT_TRUE(store().remove("key"));
    EXPECT_THAT(other().list("key")->objects, IsEmpty());
  }
}

// S14: a list is all its pages. More than two of S3's pages of 1,000.
TEST_P(StoreConformance, TwoThousandFiveHundredKeysAreListed) {
  // Takes up to 18 s on a directory, which waits for the disk twice for each of the 2,500 objects,
  // one after another, and 7 s on radosgw.
  constexpr std::size_t kKeys = 2500;
  constexpr std::size_t kInFlight = 100;
  const auto name = [](std::size_t i) {
    const std::string digits = std::to_string(i);
    return "workers/worker=" + std::string(6 - digits.size(), '0') + digits;
  };
  for (std::size_t begin = 0; begin < kKeys; begin += kInFlight) {
    const auto written = store().await<Done>([&](Callback<Done> done) {
      auto left = std::make_shared<std::size_t>(kInFlight);
      for (std::size_t i = begin; i < begin + kInFlight; ++i) {
        store().store().put(name(i), "worker", Precondition::absent(), store().deadline(),
                            [left, done](const Result<Revision>& made) {
                              EXPECT_TRUE(made) << made.error().message;
                              if (--*left == 0) done(Done{});
                            });
      }
    });
    ASSERT_TRUE(written) << written.error().message;
  }
  create("workers0");
  const std::vector<Key> keys = keys_under("workers/");
  ASSERT_EQ(keys.size(), kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) ASSERT_EQ(keys[i], name(i));
}

}  // namespace
}  // namespace muster
