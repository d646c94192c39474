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

/// A simulation that is violated by one seed, and a mutant whose file says which one was known to.
class SimulateTest : public ::testing::Test {
 protected:
  int run(std::vector<std::string> words, const std::string& fields = "") {
    const std::string mutant = ::testing::TempDir() + "sim_main_test.mutant";
    std::ofstream(mutant) << "caught: it broke\n" << fields << "<<<<\n";
    if (!fields.empty()) words.insert(words.end(), {"--mutant", mutant});
    std::vector<char*> argv{nullptr};
    for (std::string& word : words) argv.push_back(word.data());
    tried_.clear();
    const int code = simulate("sim_test", static_cast<int>(argv.size()), argv.data(), {},
                              [this](std::uint64_t seed, bool) {
                                tried_.push_back(seed);
                                SimReport report;
                                if (seed == breaks_) report.violation = "it broke";
                                return report;
                              });
    std::filesystem::remove(mutant);
    return code;
  }

  std::uint64_t breaks_ = 7;
  std::vector<std::uint64_t> tried_;
};

TEST_F(SimulateTest, TheSeedThatShowedABugLastIsTriedFirst) {
  EXPECT_EQ(run({"--seeds", "10"}, "seed: 7\n"), 0);
  EXPECT_EQ(tried_, (std::vector<std::uint64_t>{7}));
}

TEST_F(SimulateTest, WhereItShowsItNoMoreAnotherIsSearched) {
  EXPECT_EQ(run({"--seeds", "10"}, "seed: 3\n"), 0);
  EXPECT_EQ(tried_, (std::vector<std::uint64_t>{3, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(SimulateTest, ASeedBeyondThoseOfTheSimulationProvesNothing) {
  EXPECT_EQ(run({"--seeds", "5"}, "seed: 7\n"), 1);
  EXPECT_EQ(tried_, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
}

TEST_F(SimulateTest, WithoutABugEverySeedRuns) {
  EXPECT_EQ(run({"--first", "0", "--seeds", "3"}), 0);
  EXPECT_EQ(tried_, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(run({"--seeds", "10"}), 1) << "a violation fails";
}

}  // namespace sim_main_test
}  // namespace muster::sim
