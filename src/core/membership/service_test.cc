// Nodes of services without a type, and with tags.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/membership/testing.h"

namespace muster::membership {
namespace service_test {

using namespace testing;  // NOLINT: the words of this module's tests.
using ::testing::HasSubstr;

class ServiceTest : public ::testing::Test {
 protected:
  ApplyResult apply(const Command& command) { return topology_.apply(command, at(0)); }
  const NodeEntry& node(const std::string& id) { return *topology_.find(NodeId(id)); }

  Topology topology_;
};

TEST_F(ServiceTest, ANodeOfAnyServiceLivesLikeEveryOther) {
  const NodeSpec search = service_spec("a", "search", {{"zone", "b"}});
  ASSERT_TRUE(apply(registration_of(search)).outcome);
  ASSERT_TRUE(apply(beat(topology_, "a")).outcome);
  EXPECT_EQ(state(topology_, "a"), NodeState::kActive);
  EXPECT_EQ(static_cast<const NodeSpec&>(node("a")), search);
  EXPECT_TRUE(apply(registration_of(search)).outcome->already_registered);

  NodeSpec retagged = search;
  retagged.tags["zone"] = "c";
  NodeSpec other_service = service_spec("a", "queue", {}, 2);
  for (const NodeSpec& wrong : {retagged, other_service, spec("a", 2)}) {
    const ApplyResult result = apply(registration_of(wrong));
    ASSERT_TRUE(result.outcome.is(Errc::kConflict));
    EXPECT_THAT(result.outcome.error().message, HasSubstr("(search, ACTIVE"));
  }
  retagged.generation = Generation(uuid(2));
  const ApplyResult replaced = apply(registration_of(retagged));
  ASSERT_TRUE(replaced.outcome);
  EXPECT_EQ(node("a").tags, retagged.tags);
  EXPECT_EQ(replaced.events.at(0).before, nullptr) << "it has stayed in its service";
}

// A watcher of one service must learn that the node has left it.
TEST_F(ServiceTest, ANodeThatWasDownMayReturnInAnotherServiceAndTheEventTellsBoth) {
  ASSERT_TRUE(apply(registration("a")).outcome);
  ASSERT_TRUE(apply(beat(topology_, "a")).outcome);
  ASSERT_TRUE(apply(MarkSuspect{seen(topology_, "a"), {}}).outcome);
  ASSERT_TRUE(apply(MarkDown{seen(topology_, "a"), {}}).outcome);
  const NodeEntry before = node("a");
  const ApplyResult moved = apply(registration_of(service_spec("a", "search", {}, 2)));
  ASSERT_TRUE(moved.outcome);
  ASSERT_EQ(moved.events.size(), 1U);
  EXPECT_EQ(moved.events[0].kind, EventKind::kNodeUpdated);
  ASSERT_NE(moved.events[0].before, nullptr);
  EXPECT_EQ(*moved.events[0].before, before);
  EXPECT_EQ(service_of(node("a")), "search");
}

}  // namespace service_test
}  // namespace muster::membership
