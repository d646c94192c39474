#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/compat/samples.h"

namespace muster::compat {
namespace formats_test {

namespace fs = std::filesystem;

const fs::path kFixtures = fs::path(MUSTER_SOURCE_DIR) / "tests/compat/fixtures";

std::string stored(const Sample& sample) {
  std::ostringstream text;
  text << std::ifstream(kFixtures / sample.file, std::ios::binary).rdbuf();
  return from_file(sample, text.str());
}

TEST(FormatsTest, WhatTheFirstReleaseWroteIsReadAsItWasMeant) {
  for (const Sample& each : samples()) {
    const std::string bytes = stored(each);
    ASSERT_FALSE(bytes.empty()) << each.file << " is missing; see tests/compat/samples.h";
    EXPECT_EQ(each.check(bytes), "") << each.file;
  }
}

TEST(FormatsTest, WhatIsWrittenNowIsWhatTheFirstReleaseWrote) {
  for (const Sample& each : samples()) EXPECT_EQ(stored(each), each.bytes) << each.file;
}

TEST(FormatsTest, EveryFixtureIsTested) {
  std::set<std::string> files;
  for (const Sample& each : samples()) files.insert(each.file);
  for (const auto& each : fs::directory_iterator(kFixtures)) {
    EXPECT_TRUE(files.contains(each.path().filename())) << each.path();
  }
}

TEST(FormatsTest, AFlippedByteOfABinaryFormatWithADigestIsRefused) {
  for (const Sample& each : samples()) {
    if (!each.file.starts_with("entry") && each.file != "manifest.hex" &&
        each.file != "backup.hex") {
      continue;
    }
    std::string damaged = stored(each);
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
    EXPECT_NE(each.check(damaged), "") << each.file;
  }
}

}  // namespace formats_test
}  // namespace muster::compat
