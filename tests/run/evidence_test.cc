#include "tests/run/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace evidence_test {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Claim at(const std::string& node, std::uint64_t epoch, Duration time) {
  return {node, epoch, MonoTime(time), MonoTime(time)};
}

std::vector<Claim> run(const std::string& node, std::uint64_t epoch, Duration from, Duration to) {
  return {at(node, epoch, from), at(node, epoch, to)};
}

std::vector<Claim> both(std::vector<Claim> a, const std::vector<Claim>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(EvidenceTest, RunsOneAfterTheOtherAreFine) {
  const auto claims = both(run("a", 1, 1s, 2s), run("b", 2, 3s, 4s));
  EXPECT_THAT(contradictions(claims), IsEmpty());
  EXPECT_THAT(falling_epochs(claims), IsEmpty());
}

TEST(EvidenceTest, OverlappingRunsAreFound) {
  EXPECT_THAT(contradictions(both(run("a", 1, 1s, 3s), run("b", 2, 2s, 4s))),
              ::testing::Not(IsEmpty()));
}

TEST(EvidenceTest, ProcessesOfOneTermMayOverlap) {
  EXPECT_THAT(contradictions(both(run("a", 1, 1s, 3s), run("a", 1, 2s, 4s))), IsEmpty());
}

TEST(EvidenceTest, EpochsThatFallAreFound) {
  EXPECT_THAT(falling_epochs(both(run("a", 2, 1s, 2s), run("b", 1, 3s, 4s))), SizeIs(1));
}

}  // namespace evidence_test
}  // namespace muster
