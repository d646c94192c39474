#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "core/routing/hash_ring.h"
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

// R28: implementations in other languages place keys by these.
TEST(FormatsTest, TheHashRingGivesTheAnswersOfItsVectors) {
  std::ifstream vectors(fs::path(MUSTER_SOURCE_DIR) / "examples/ring/vectors.txt");
  HashRing ring;
  int checked = 0;
  for (std::string line; std::getline(vectors, line); ++checked) {
    std::istringstream words(line);
    std::string kind, first, second, third;
    words >> kind >> first >> second >> third;
    if (kind == "key") {
      EXPECT_EQ(std::to_string(key_position(first)), second) << line;
    } else if (kind == "virtual") {
      const auto index = static_cast<std::uint32_t>(std::stoul(second));
      EXPECT_EQ(std::to_string(virtual_node_position(NodeId(first), index)), third) << line;
    } else if (kind == "ring") {
      std::vector<RingMember> members;
      for (const std::string_view each : split(third, ',')) {
        const std::size_t equals = each.find('=');
        members.push_back({NodeId(std::string(each.substr(0, equals))),
                           static_cast<std::uint32_t>(*parse_unsigned(each.substr(equals + 1)))});
      }
      ring = HashRing(std::move(members), {static_cast<std::uint32_t>(std::stoul(first)),
                                           static_cast<std::uint32_t>(std::stoul(second))});
    } else {
      ASSERT_EQ(kind, "owners");
      std::string owners;
      for (const std::uint32_t member : ring.lookup(first).members) {
        owners += (owners.empty() ? "" : ",") + ring.members()[member].id.value();
      }
      EXPECT_EQ(owners, second) << line;
    }
  }
  EXPECT_EQ(checked, 75);
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
