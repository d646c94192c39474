// Keys and lists: which names are possible, and what a prefix shows of them.
#include <string>

#include "tests/support/store_conformance.h"

namespace muster {
namespace {

TEST_P(StoreConformance, KeysMayHoldWhatUrlsAndPathsMustEscape) {
  keeps_promise("characters of keys");
}

TEST_P(StoreConformance, LongKeysAreKeptApart) {
  keeps_promise("long keys");
}

TEST_P(StoreConformance, AKeyMayBeginAnotherKeysPath) {
  keeps_promise("key below a key");
}

TEST_P(StoreConformance, NoKeyLeadsOutOfItsPlace) {
  keeps_promise("keys stay in their place");
}

TEST_P(StoreConformance, KeysThatDifferOnlyInCaseAreTwo) {
  keeps_promise("case of keys");
}

TEST_P(StoreConformance, AListShowsItsPrefixOnlyInByteOrder) {
  keeps_promise("prefixes");
}

TEST_P(StoreConformance, AListShowsWritesAndRemovalsAtOnceAndWithTheirRevisions) {
  keeps_promise("list after write");
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
