#include "elector/settled_put.h"

#include <gtest/gtest.h>

#include "elector/testing.h"

namespace muster {
namespace settled_put_test {

using testing::Fault;
using testing::SharedWorld;
using testing::TestProcess;

TEST(SettledPutTest, SaysNothingWasWrittenOnlyWhenThatIsCertain) {
  SharedWorld world;
  TestProcess process(world);
  process.set_script([](std::uint64_t, bool) { return Fault::kUnavailable; });
  EXPECT_TRUE(
      settled_put(process.store(), "k", "a", Precondition::absent()).is(Errc::kUnavailable));
  // The first send may have landed: later certainty about a second one changes nothing.
  process.set_script([first = process.calls()](std::uint64_t call, bool writes) {
    if (call == first) return Fault::kLate;
    return writes ? Fault::kUnavailable : Fault::kNone;
  });
  EXPECT_TRUE(settled_put(process.store(), "k", "b", Precondition::absent()).is(Errc::kAmbiguous));
  process.land_late();
  EXPECT_EQ(process.store().get("k")->body, "b");
}

TEST(SettledPutTest, AConflictThatCannotBeReadBackStaysAmbiguous) {
  SharedWorld world;
  TestProcess process(world);
  process.set_script(
      [](std::uint64_t, bool writes) { return writes ? Fault::kResent : Fault::kUnavailable; });
  EXPECT_TRUE(settled_put(process.store(), "k", "a", Precondition::absent()).is(Errc::kAmbiguous));
}

}  // namespace settled_put_test
}  // namespace muster
