// What happens to an object behind the store's back: a file cut short by a power loss, a bad block.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/store_conformance.h"

namespace muster {
namespace {

struct Damage {
  const char* what;
  std::function<std::string(std::string)> of;
};

std::vector<Damage> kinds_of_damage() {
  return {{"emptied", [](const std::string&) { return std::string(); }},
          {"one byte short", [](std::string bytes) { return bytes.erase(bytes.size() - 1); }},
          {"one byte more", [](std::string bytes) { return bytes + "x"; }},
          {"a bit at the end",
           [](std::string bytes) {
             bytes.back() = static_cast<char>(bytes.back() ^ 1);
             return bytes;
           }},
          {"a bit at the beginning",
           [](std::string bytes) {
             bytes.front() = static_cast<char>(bytes.front() ^ 1);
             return bytes;
           }},
          {"zeros", [](const std::string& bytes) { return std::string(bytes.size(), '\0'); }},
          {"another's", [](const std::string&) { return std::string("{\"epoch\":7}\n"); }}};
}

TEST_P(StoreConformance, AWholeObjectIsNotCalledDamaged) {
  create("key");
  EXPECT_EQ(store().get("key")->damage, "");
  EXPECT_EQ(other().get("key")->damage, "");
}

// Stores whose bytes a test cannot come at have none of these.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreDamageConformance);

// S18: no damage ends elections.
TEST_P(StoreDamageConformance, AnObjectDamagedBehindTheStoresBackIsReadAndReplacedAsSuch) {
  for (const Damage& damage : kinds_of_damage()) {
    SCOPED_TRACE(damage.what);
    const Key key = std::string("damaged/") + damage.what;
    const Revision before = create(key);
    const auto whole = store().put(key, fresh_body(), Precondition::at(before));
    ASSERT_TRUE(whole) << whole.error().message;
    damage_object(key, damage.of);

    const auto read = other().get(key);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_NE(read->damage, "");
    EXPECT_NE(read->revision, *whole);
    EXPECT_TRUE(read->age.has_value());
    EXPECT_TRUE(store().get(key, read->revision).is(Errc::kUnchanged));
    EXPECT_EQ(store().get(key, *whole)->revision, read->revision);
    const auto listed = store().list(key);
    ASSERT_TRUE(listed && listed->objects.size() == 1);
    EXPECT_EQ(listed->objects[0].revision, read->revision);

    EXPECT_TRUE(store().put(key, fresh_body(), Precondition::absent()).is(Errc::kConflict));
    EXPECT_TRUE(store().put(key, fresh_body(), Precondition::at(before)).is(Errc::kConflict));
    const std::string body = fresh_body();
    const auto replaced = store().put(key, body, Precondition::at(read->revision));
    ASSERT_TRUE(replaced) << replaced.error().message;
    EXPECT_TRUE(
        other().put(key, fresh_body(), Precondition::at(read->revision)).is(Errc::kConflict));
    const auto now = other().get(key);
    ASSERT_TRUE(now) << now.error().message;
    EXPECT_EQ(now->damage, "");
    EXPECT_EQ(now->body, body);
    EXPECT_EQ(now->revision, *replaced);
  }
}

TEST_P(StoreDamageConformance, ADamagedObjectIsRemovedAtItsRevisionAndMayGuardAnother) {
  const auto cut = [](std::string bytes) { return bytes.erase(bytes.size() / 2); };
  create("key");
  damage_object("key", cut);
  const auto read = store().get("key");
  ASSERT_TRUE(read) << read.error().message;
  if (capabilities().guarded_put) {
    const Guard guard{"key", Precondition::at(read->revision)};
    EXPECT_TRUE(other().guarded_put("guarded", fresh_body(), Precondition::absent(), guard));
  }
  if (!capabilities().conditional_remove) return;
  damage_object("key", cut);
  EXPECT_TRUE(other().remove("key", read->revision).is(Errc::kConflict));
  EXPECT_TRUE(other().remove("key", store().get("key")->revision));
  EXPECT_TRUE(store().get("key").is(Errc::kNotFound));
}

}  // namespace
}  // namespace muster
