#include "core/cluster/versioned_kv.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::cluster {
namespace versioned_kv_test {

using Content = std::vector<std::pair<std::string, std::string>>;

Content content(VersionedKv::Image& image) {
  Content all;
  while (auto item = image.next()) all.emplace_back(item->first, *item->second.value);
  return all;
}

TEST(VersionedKvTest, ConditionsLookAtTheKeyAsItIs) {
  VersionedKv kv;
  EXPECT_TRUE(kv.check("a", Absent{}));
  EXPECT_TRUE(kv.check("a", AtRevision{0}).is(Errc::kConflict));
  kv.put("a", "1", kv_revision(1, 0), {});
  EXPECT_TRUE(kv.check("a", Absent{}).is(Errc::kConflict));
  EXPECT_TRUE(kv.check("a", AtRevision{kv_revision(1, 0)}));
  kv.put("a", "1", kv_revision(1, 1), {});
  EXPECT_TRUE(kv.check("a", AtRevision{kv_revision(1, 0)}).is(Errc::kConflict))
      << "two writes of one entry are told apart";
}

TEST(VersionedKvTest, ScanGoesInByteOrderFromAfterAKey) {
  VersionedKv kv;
  KvRevision revision = 0;
  for (const char* key : {"b/2", "a", "b/1", "c", "b/10"}) kv.put(key, "", ++revision, {});
  std::vector<std::string> keys;
  kv.scan("b/", "b/1", [&](const std::string& key, const KvEntry&) {
    keys.push_back(key);
    return true;
  });
  EXPECT_EQ(keys, (std::vector<std::string>{"b/10", "b/2"}));
}

TEST(VersionedKvTest, AnImageStaysAsItWasWhileKeysChangeBeforeAndBehindIt) {
  VersionedKv kv;
  KvRevision revision = 0;
  for (const char* key : {"a", "b", "c", "d"}) kv.put(key, "old", ++revision, {});
  auto image = kv.freeze();
  ASSERT_EQ(image->next()->first, "a");
  kv.put("a", "new", ++revision, {});
  kv.put("a0", "new", ++revision, {});
  kv.put("c", "new", ++revision, {});
  kv.put("c", "newer", ++revision, {});
  kv.remove("d", ++revision, {});
  kv.put("e", "new", ++revision, {});
  kv.remove("e", ++revision, {});
  EXPECT_EQ(content(*image), (Content{{"b", "old"}, {"c", "old"}, {"d", "old"}}));
  EXPECT_EQ(image->revision(), 4U);
  EXPECT_EQ(kv.size(), 4U);
}

TEST(VersionedKvTest, AnImageOutlivesItsStore) {
  auto kv = std::make_unique<VersionedKv>();
  kv->put("a", "1", 1, {});
  auto image = kv->freeze();
  kv.reset();
  EXPECT_EQ(content(*image), (Content{{"a", "1"}}));
}

TEST(VersionedKvTest, HistoryReplaysExactlyOrSaysThatItCannot) {
  VersionedKv kv;
  for (KvRevision r = 1; r <= 10'000; ++r) kv.put("k", std::to_string(r), r, {});
  EXPECT_TRUE(kv.remembers(0));
  kv.remove("k", 10'001, {});
  EXPECT_FALSE(kv.remembers(0));
  EXPECT_TRUE(kv.remembers(1));
  std::vector<KvRevision> seen;
  kv.replay(9'999, [&](const KvEvent& event) {
    seen.push_back(event.entry.revision);
    return true;
  });
  EXPECT_EQ(seen, (std::vector<KvRevision>{10'000, 10'001}));
}

TEST(VersionedKvTest, CountsTheBytesItHolds) {
  VersionedKv kv;
  kv.put("ab", "123", 1, {});
  kv.put("ab", "1", 2, {});
  EXPECT_EQ(kv.bytes(), 3U);
  kv.remove("ab", 3, {});
  EXPECT_EQ(kv.bytes(), 0U);
}

}  // namespace versioned_kv_test
}  // namespace muster::cluster
