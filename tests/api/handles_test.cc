#include "tests/api/scene.h"

#include <algorithm>
#include <future>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>

namespace api_test {

TEST(PublicHandlesTest, HandlesMayBeDestroyedInAnyOrder) {
  const std::size_t before = threads();
  std::vector<int> order = {0, 1, 2, 3};
  do {
    const TempDir dir;
    auto arbiter = std::make_unique<Arbiter>(Arbiter::open(url_of(dir)).value());
    auto copy = std::make_unique<Arbiter>(*arbiter);
    auto leadership =
        std::make_unique<Leadership>(Leadership::stand(*arbiter, "n", options_of("", 1s)).value());
    auto term = std::make_unique<Term>(leadership->wait({}, kSoon).value());
    for (const int which : order) {
      if (which == 0) arbiter.reset();
      if (which == 1) copy.reset();
      if (which == 2) leadership.reset();
      if (which == 3) term.reset();
      EXPECT_TRUE(!term || leadership || !term->valid());
    }
    // Both threads of an arbiter end with what was made from it.
    EXPECT_TRUE(threads_fall_to(before)) << threads();
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(PublicHandlesTest, HandlesMayBeMovedAndUsedAfterwards) {
  const TempDir dir;
  Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  const Arbiter moved = std::move(arbiter);
  EXPECT_EQ(arbiter.describe(), moved.describe());  // NOLINT
  Leadership one = Leadership::stand(arbiter, "n", options_of("a")).value();
  Leadership two = std::move(one);
  EXPECT_EQ(two.id(), "a");
  EXPECT_EQ(one.id(), "");  // NOLINT
  EXPECT_FALSE(one.leader());
  EXPECT_FALSE(one.term().valid());
  EXPECT_TRUE(one.wait().is(Code::kInvalid));
  EXPECT_TRUE(one.step_down().is(Code::kInvalid));
  EXPECT_TRUE(one.stop().ok());
  two = Leadership::stand(arbiter, "n", options_of("b")).value();
  EXPECT_TRUE(two.wait({}, kSoon).ok());
}

TEST(PublicHandlesTest, CallbacksTellTheLeaderAndMayNotWaitForThemselves) {
  const TempDir dir;
  const Arbiter arbiter = Arbiter::open(url_of(dir)).value();
  Heard<std::optional<Leader>> leaders;
  Heard<Code> refused;
  std::set<std::thread::id> on;
  std::optional<Leadership> standing;
  std::mutex made;
  LeaderOptions options = options_of("me");
  options.value = "here";
  options.on_change = [&](const std::optional<Leader>& leader) {
    const std::lock_guard lock(made);
    on.insert(std::this_thread::get_id());
    refused.add(standing->stop().code());
    refused.add(standing->wait().code());
    refused.add(muster::lead(arbiter, "n", {}, [](const Term&) {}).code());
    leaders.add(leader);
    throw std::runtime_error("a callback that throws");
  };
  {
    const std::lock_guard lock(made);
    standing.emplace(Leadership::stand(arbiter, "n", options).value());
  }
  const auto seen = leaders.wait_for([](const auto& leader) { return leader.has_value(); });
  ASSERT_TRUE(seen);
  EXPECT_EQ((*seen)->id, "me");
  EXPECT_EQ((*seen)->value, "here");
  EXPECT_EQ((*seen)->token, standing->term().token());
  EXPECT_EQ(refused.all(), std::vector<Code>(refused.all().size(), Code::kInvalid));
  EXPECT_TRUE(standing->stop().ok());
  EXPECT_EQ(on.size(), 1u);
  EXPECT_EQ(on.count(std::this_thread::get_id()), 0u);
}

TEST(PublicHandlesTest, ACallbackMayEndWhatCalledIt) {
  const std::size_t before = threads();
  {
    const TempDir dir;
    std::promise<void> ended;
    std::mutex made;
    std::optional<Leadership> standing;
    {
      const std::lock_guard lock(made);
      std::optional<Arbiter> arbiter = Arbiter::open(url_of(dir)).value();
      LeaderOptions options = options_of("me");
      options.on_change = [&](const std::optional<Leader>&) {
        const std::lock_guard here(made);
        if (!standing) return;
        standing.reset();
        ended.set_value();
      };
      standing.emplace(Leadership::stand(*arbiter, "n", options).value());
    }
    ended.get_future().get();
    // Its threads end without anybody who waits for them: the name is free once they have let go.
    Leadership next =
        Leadership::stand(Arbiter::open(url_of(dir)).value(), "n", options_of("b")).value();
    EXPECT_TRUE(next.wait({}, kSoon).ok());
  }
  // One more: the thread that has joined them.
  EXPECT_TRUE(threads_fall_to(before + 1)) << threads();
}

}  // namespace api_test
