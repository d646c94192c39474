#include "store/file/layout.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace muster::file {
namespace layout_test {

/// The key that a path stands for, read back as a list does it.
std::optional<std::string> key_at(const std::string& path) {
  const auto slash = path.rfind('/');
  const auto begin =
      keys_begin_with(slash == std::string::npos ? "" : std::string_view(path).substr(0, slash));
  const auto name = decode_name(slash == std::string::npos ? path : path.substr(slash + 1));
  if (!begin || !name) return {};
  return *begin + *name;
}

TEST(LayoutTest, PathsAreReadableAndEndInTheKeysLastPart) {
  EXPECT_EQ(path_of("plugin=coordinator/namespace=a b/state.json"),
            "plugin=coordinator+/namespace=a%20b+/state.json");
}

TEST(LayoutTest, EveryKeyHasOnePathAndComesBackFromIt) {
  const std::string long_part(1000, 'x');
  const std::vector<Key> keys{"a",
                              "a/b",
                              "a+",
                              "a+/b",
                              "a,",
                              "a,b",
                              "A",
                              ".",
                              "..",
                              "../x",
                              "a/../b",
                              ".hidden",
                              "%2E",
                              "%",
                              "a%2Fb",
                              "é",
                              "日本/語",
                              "a b&c=d+e",
                              "\n\t\x01",
                              "a\\b",
                              "con~",
                              long_part,
                              long_part + "/y",
                              std::string(128, 'x'),
                              std::string(129, 'x'),
                              std::string(341, '\xC3'),
                              std::string(128, 'x') + "/y",
                              std::string(128, 'x') + ".z"};
  std::set<std::string> paths;
  for (const Key& key : keys) {
    const std::string path = path_of(key);
    EXPECT_TRUE(paths.insert(path).second) << key;
    EXPECT_EQ(key_at(path), key) << path;
  }
}

TEST(LayoutTest, NoKeyLeadsOutOfTheDirectoryOrMakesALongName) {
  for (const Key& key : std::vector<Key>{"..", "../../etc/passwd", "a/../../b", "./.", "...",
                                         std::string(1024, '.'), std::string(1024, '\xFF')}) {
    const std::string path = path_of(key);
    EXPECT_LT(path.size(), 4000u);
    for (const std::string_view name : split(path, '/')) {
      EXPECT_FALSE(name.empty() || name.front() == '.') << path;
      EXPECT_LE(name.size(), 143u);
    }
  }
}

TEST(LayoutTest, AnObjectAndADirectoryOfItsKeyDoNotMeet) {
  EXPECT_EQ(path_of("a"), "a");
  EXPECT_EQ(path_of("a/b"), "a+/b");
  EXPECT_EQ(directory_of("a/b/c"), "a+/b+");
  EXPECT_EQ(directory_of("a/"), "a+");
  EXPECT_EQ(directory_of("a"), "");
}

TEST(LayoutTest, NamesThatNobodyWroteAreNotTakenForKeys) {
  for (const char* name : {"", "a+", "a,", ".swp", "a~", "%2e", "%61", "%2F", "%zz", "a b"}) {
    EXPECT_FALSE(decode_name(name).has_value()) << name;
  }
  EXPECT_FALSE(keys_begin_with("a").has_value());
  EXPECT_FALSE(keys_begin_with("lost+found").has_value());
}

TEST(LayoutTest, OnlyKeysThatEveryStoreTakesAreTaken) {
  EXPECT_TRUE(check_key("a/b").ok());
  for (const Key& key : std::vector<Key>{"", "/", "/a", "a/", "a//b", std::string(1025, 'k')}) {
    EXPECT_TRUE(check_key(key).is(Errc::kInvalid)) << key;
  }
}

}  // namespace layout_test
}  // namespace muster::file
