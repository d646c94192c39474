#include "tests/sim/sim_main.h"

#include <array>

#include <gtest/gtest.h>
#include <unistd.h>

namespace muster::sim {
namespace sim_main_test {

TEST(SimMainTest, EllipsesOfAPatternStandForAnything) {
  EXPECT_TRUE(matches("wa and wb lead", "… and … lead"));
  EXPECT_TRUE(matches("entry 7", "entry …"));
  EXPECT_TRUE(matches("entry ", "entry …"));
  EXPECT_TRUE(matches("nobody leads", "nobody leads"));
  EXPECT_TRUE(matches("a lead and lead", "… lead"));
}

TEST(SimMainTest, NothingElseOfAPatternDoes) {
  EXPECT_FALSE(matches("wa and wb lead again", "… and … lead"));
  EXPECT_FALSE(matches("wa and wb led", "… and … lead"));
  EXPECT_FALSE(matches("the entry 7", "entry …"));
  EXPECT_FALSE(matches("nobody leads now", "nobody leads"));
  EXPECT_FALSE(matches("nobody leads", ""));
}

/// What main() returns when every seed ends with this violation.
int outcome(const std::string& violation, const char* caught) {
  const std::string mutant = ::testing::TempDir() + "muster-" + std::to_string(::getpid());
  std::ofstream(mutant) << "bug: planted\n" << caught;
  std::array<std::string, 5> words{"sim", "--seeds", "3", "--mutant", mutant};
  std::array<char*, 5> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  const int result = simulate("sim", static_cast<int>(arguments.size()), arguments.data(), {},
                              [&violation](std::uint64_t, bool) {
                                SimReport report;
                                report.violation = violation;
                                return report;
                              });
  std::remove(mutant.c_str());
  return result;
}

TEST(SimMainTest, APlantedBugMustBeCaughtByWhatItsFileNames) {
  EXPECT_EQ(outcome("wa and wb lead", "caught: … and … lead\n"), 0);
  EXPECT_EQ(outcome("nobody leads", "caught: … and … lead\n"), 1);
  EXPECT_EQ(outcome("", "caught: … and … lead\n"), 1);
  EXPECT_EQ(outcome("wa and wb lead", ""), 64);
}

}  // namespace sim_main_test
}  // namespace muster::sim
