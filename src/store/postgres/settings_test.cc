#include "store/postgres/settings.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

namespace muster::postgres {
namespace settings_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Row row(const std::vector<std::optional<std::string>>& columns) {
  Row all{"7700", "0000000A", "16386", "42"};
  all.insert(all.end(), columns.begin(), columns.end());
  return all;
}

TEST(PostgresSettingsTest, WhatSettingsMeanIsSaidPlainly) {
  const auto seen = [](const std::string& commit, const std::string& names,
                       const std::string& standbys, const std::string& highest, bool hears) {
    return *inspected({row({commit, names, standbys, "on", highest, "true"})}, hears);
  };
  EXPECT_TRUE(seen("on", "", "0", "42", true).unsafe.empty());
  EXPECT_THAT(seen("on", "", "0", "43", true).unsafe, ElementsAre(HasSubstr("setval")));
  EXPECT_THAT(seen("off", "", "0", "1", true).remarks, Contains(HasSubstr("is off for this role")));
  EXPECT_THAT(seen("on", "", "2", "1", true).remarks, Contains(HasSubstr("asynchronously (2")));
  EXPECT_THAT(seen("on", "a", "2", "1", true).remarks, Contains(HasSubstr("loses nothing")));
  EXPECT_THAT(seen("on", "", "0", "1", true).remarks, Not(Contains(HasSubstr("pooler"))));
  EXPECT_THAT(seen("on", "", "0", "1", false).remarks, Contains(HasSubstr("pooler")));
  EXPECT_TRUE(inspected({row({"on", "", "0", "on", "1", "false"})}, true).is(Errc::kDenied));
}

TEST(PostgresSettingsTest, AGreetingTellsAStandbyFromAPrimary) {
  const auto primary =
      Greeting::read({{"150004", "false", "off", "on", "UTF8", "77", "true", "7700", "00000002"}});
  ASSERT_TRUE(primary);
  EXPECT_FALSE(primary->standby || primary->read_only);
  EXPECT_TRUE(primary->durable && primary->utf8 && primary->installed);
  EXPECT_EQ(primary->process, 77);
  EXPECT_EQ(primary->origin.timeline, 2u);
  const auto standby = Greeting::read(
      {{"150004", "true", "on", "off", "LATIN1", "77", "false", "7700", std::nullopt}});
  ASSERT_TRUE(standby);
  EXPECT_TRUE(standby->standby && standby->read_only);
  EXPECT_FALSE(standby->durable || standby->utf8 || standby->installed);
  EXPECT_TRUE(Greeting::read({{"1"}}).is(Errc::kUnsupported));
}

}  // namespace settings_test
}  // namespace muster::postgres
