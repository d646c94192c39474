// "This must never run twice": real `muster run` processes on real stores, under random schedules
// of everything that may happen to them. MUSTER_SCHEDULES says how many, MUSTER_SCHEDULES_AT_ONCE
// how many of them side by side, MUSTER_SCHEDULE repeats one.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/coordinator/stores.h"
#include "tests/run/judge.h"
#include "tests/run/schedule.h"

namespace muster {
namespace schedules_test {

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

class RunScheduleTest : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Stores, RunScheduleTest, ::testing::ValuesIn(store_kinds()),
                         [](const auto& store) { return store.param; });

// C02, C07, C09, P05, P06, P08: only one node's work runs, whatever is done to the nodes and the
// store.
TEST_P(RunScheduleTest, WorkOfTwoTermsNeverRunsAtOnce) {
  // Takes about 50 s: 40 schedules, 8 at once, of 14 steps up to 600 ms apart; each then waits
  // until work runs two leases of 2 s after all was healed.
  prepare_judges(GetParam());
  const std::uint64_t only = number("MUSTER_SCHEDULE", 0);
  const std::uint64_t count = only != 0 ? 1 : number("MUSTER_SCHEDULES", 40);
  std::atomic<std::uint64_t> next{only != 0 ? only : number("MUSTER_SCHEDULE_FIRST", 1)};
  const std::uint64_t last = next + count - 1;
  std::atomic<std::size_t> terms{0};
  std::atomic<std::size_t> faults{0};
  std::mutex output;
  std::uint64_t done = 0;

  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < number("MUSTER_SCHEDULES_AT_ONCE", 8); ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t seed = next++; seed <= last; seed = next++) {
        const ScheduleReport report = run_schedule(GetParam(), seed);
        terms += report.terms;
        faults += report.faults;
        const std::lock_guard lock(output);
        for (const std::string& sentence : report.wrong)
          ADD_FAILURE() << "MUSTER_SCHEDULE=" << seed << ": " << sentence;
        if (++done % 100 == 0 && done < count) {
          std::printf("%llu of %llu schedules on %s so far\n",
                      static_cast<unsigned long long>(done), static_cast<unsigned long long>(count),
                      GetParam().c_str());
          std::fflush(stdout);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%llu schedules on %s: %zu terms, %zu faults\n",
              static_cast<unsigned long long>(count), GetParam().c_str(), terms.load(),
              faults.load());
  // Schedules in which nothing happens prove nothing.
  EXPECT_GT(terms, count);
  EXPECT_GT(faults, 4 * count);
}

}  // namespace schedules_test
}  // namespace muster
