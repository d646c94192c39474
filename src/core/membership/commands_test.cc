#include "core/membership/commands.h"

#include <gtest/gtest.h>

#include "core/membership/testing.h"

namespace muster::membership {
namespace commands_test {

using namespace testing;  // NOLINT: the words of this module's tests.

Observation observation(const char* id, const std::string& generation) {
  return {NodeId(id), Generation(generation), at(0), 1};
}

TEST(CommandsTest, WhatMayNotBeProposedIsRefusedBeforehand) {
  NodeSpec bad = spec("a");
  bad.port = 0;
  const Command refused[] = {
      RegisterNode{bad, {}},
      DeregisterNode{NodeId("-"), {}, {}},
      DeregisterNode{NodeId("a"), Generation("x"), {}},
      BatchHeartbeat{1, {{2, NodeState::kActive}, {1, NodeState::kActive}}, {}},
      BatchHeartbeat{1, {{1, NodeState::kActive}, {1, NodeState::kActive}}, {}},
      BatchHeartbeat{1, {{1, NodeState::kDown}}, {}},
      BatchHeartbeat{1, {{kSlotsMax, NodeState::kActive}}, {}},
      MarkSuspect{observation("", uuid(1)), {}},
      MarkDown{observation("a", "x"), {}},
      RemoveJoining{observation("a-", uuid(1)), {}},
      Drain{NodeId(""), false, {}},
      SetRingConfig{{0, 3, {}}, {}},
      RegisterNode{service_spec("a", "search"), {}},
      RegisterNode{service_spec("a", "object", {{"k", "v"}}), {}},
      RegisterServiceNode{service_spec("a", "Search"), {}},
  };
  for (const Command& command : refused) {
    EXPECT_TRUE(validate(command).is(Errc::kInvalid)) << name(command);
  }
}

TEST(CommandsTest, WhatMayBeProposedPasses) {
  const Command accepted[] = {
      registration("a"),
      DeregisterNode{NodeId("a"), {}, {}},
      DeregisterNode{NodeId("a"), Generation(uuid(1)), {}},
      BatchHeartbeat{1, {{0, NodeState::kActive}, {7, NodeState::kDraining}}, {}},
      MarkSuspect{observation("a", uuid(1)), {}},
      MarkDown{observation("a", uuid(1)), {}},
      RemoveJoining{observation("a", uuid(1)), {}},
      Drain{NodeId("a"), true, {}},
      SetRingConfig{{16, 3, {}}, {}},
      RegisterServiceNode{service_spec("a", "search"), {}},
  };
  for (const Command& command : accepted) EXPECT_TRUE(validate(command)) << name(command);
}

// Servers of 0.1 must be able to apply whatever they can understand.
TEST(CommandsTest, ANodeWithATypeAndNothingElseIsRegisteredAsEver) {
  EXPECT_EQ(registration_of(spec("a")), Command(registration("a")));
  EXPECT_EQ(registration_of(service_spec("a", "object")), Command(registration("a")));
  for (const NodeSpec& node :
       {service_spec("a", "search"), service_spec("a", "object", {{"k", ""}})}) {
    EXPECT_EQ(registration_of(node), Command(RegisterServiceNode{node, {}}));
    EXPECT_EQ(*registered_by(registration_of(node)), node);
  }
  EXPECT_EQ(registered_by(Drain{NodeId("a"), false, {}}), nullptr);
}

TEST(CommandsTest, EachKindHasItsName) {
  EXPECT_STREQ(name(RegisterNode{}), "RegisterNode");
  EXPECT_STREQ(name(RemoveJoining{}), "RemoveJoining");
  EXPECT_STREQ(name(SetRingConfig{}), "SetRingConfig");
  EXPECT_STREQ(name(RegisterServiceNode{}), "RegisterServiceNode");
}

}  // namespace commands_test
}  // namespace muster::membership
