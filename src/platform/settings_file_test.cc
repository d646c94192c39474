#include "platform/settings_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace settings_file_test {

using ::testing::HasSubstr;

std::string problem(const std::string& yaml) {
  const auto settings = read_settings(yaml);
  return settings ? "" : settings.error().message;
}

TEST(SettingsFileTest, ReadsFlatAndGroupedOptions) {
  const auto settings = read_settings(
      "arbiter: file:///tmp/x\n"
      "lease-timeout: 15s\n"
      "circuit-breaker:\n"
      "  reset-timeout: 30s\n");
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  ASSERT_EQ(settings->size(), 3u);
  EXPECT_EQ((*settings)[0].name, "arbiter");
  EXPECT_EQ((*settings)[0].value, "file:///tmp/x");
  EXPECT_EQ((*settings)[2].name, "circuit-breaker-reset-timeout");
  EXPECT_EQ((*settings)[2].line, 4);
}

TEST(SettingsFileTest, TakesUnderscoresForDashesAndKnowsTheTlsGroup) {
  const auto settings = read_settings("lease_timeout: 1s\ntls: {cert: a, key: b, ca: c}\n");
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  std::vector<std::string> names;
  for (const Setting& setting : *settings) names.push_back(setting.name);
  EXPECT_EQ(names, (std::vector<std::string>{"lease-timeout", "cert", "key", "cacert"}));
}

TEST(SettingsFileTest, AnEmptyFileSetsNothing) {
  EXPECT_TRUE(read_settings("").value().empty());
  EXPECT_TRUE(read_settings("# only a comment\n").value().empty());
}

TEST(SettingsFileTest, RefusesAKeyGivenTwice) {
  EXPECT_THAT(problem("id: a\nid: b\n"), HasSubstr("line 2: id is given twice"));
  EXPECT_THAT(problem("lease-timeout: 1s\nlease_timeout: 2s\n"), HasSubstr("given twice"));
  EXPECT_THAT(problem("cert: a\ntls: {cert: b}\n"), HasSubstr("given twice"));
}

TEST(SettingsFileTest, RefusesNumbersThatReadersDisagreeOn) {
  for (const char* number : {"010", "0x10", "0o17", "-012", "00"}) {
    EXPECT_THAT(problem("workers: " + std::string(number) + "\n"), HasSubstr(number)) << number;
  }
  for (const char* fine : {"0", "10", "0s", "0.5", "\"010\"", "w01"}) {
    EXPECT_EQ(problem("workers: " + std::string(fine) + "\n"), "") << fine;
  }
}

TEST(SettingsFileTest, RefusesWhatIsNoSingleValue) {
  EXPECT_THAT(problem("id:\n"), HasSubstr("line 1: id needs exactly one value"));
  EXPECT_THAT(problem("id: [a, b]\n"), HasSubstr("needs exactly one value"));
  EXPECT_THAT(problem("- a\n- b\n"), HasSubstr("NAME: VALUE"));
  EXPECT_THAT(problem("a: {b: {c: d}}\n"), HasSubstr("group inside a group"));
  EXPECT_THAT(problem("a: &x {b: *x}\n"), HasSubstr("group inside a group"));
  EXPECT_THAT(problem("a: 1\n---\nb: 2\n"), HasSubstr("one document"));
  EXPECT_THAT(problem("a: {b\n"), HasSubstr("not YAML"));
  // The library alone reads this for ever.
  EXPECT_THAT(problem(","), HasSubstr("one document"));
}

}  // namespace settings_file_test
}  // namespace muster
