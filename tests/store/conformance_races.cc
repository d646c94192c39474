// Several writers at once: one wins, nothing is lost.
#include <memory>
#include <string>

#include "tests/support/store_conformance.h"

namespace muster {
namespace {

TEST_P(StoreConformance, OfManyCreatorsExactlyOneWins) {
  keeps_promise("one creator wins");
}

TEST_P(StoreConformance, OfManyReplacersExactlyOneWins) {
  keeps_promise("one replacer wins");
}

TEST_P(StoreConformance, NoCompareAndSwapIsLost) {
  keeps_promise("no swap is lost");
}

// Calls of one handle that are in flight together race as those of two would.
TEST_P(StoreConformance, OneHandlesConcurrentWritesAtARevisionHaveOneWinner) {
  const Revision revision = create("key");
  auto wins = std::make_shared<int>(0);
  auto unsettled = std::make_shared<int>(0);
  const auto answered = store().await<Done>([&](Callback<Done> done) {
    auto left = std::make_shared<int>(16);
    for (int i = 0; i < 16; ++i) {
      store().store().put("key", "racer " + std::to_string(i), Precondition::at(revision),
                          store().deadline(), [=](const Result<Revision>& written) {
                            *wins += written.ok();
                            *unsettled += written.is(Errc::kAmbiguous);
                            if (--*left == 0) done(Done{});
                          });
    }
  });
  ASSERT_TRUE(answered) << answered.error().message;
  EXPECT_NE(store().get("key")->revision, revision);
  EXPECT_LE(*wins, 1);
  EXPECT_TRUE(*wins == 1 || *unsettled > 0);
}

}  // namespace
}  // namespace muster
