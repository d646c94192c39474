#include "core/membership/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/membership/testing.h"
#include "core/membership/wire.h"

namespace muster::membership {
namespace codec_test {

using namespace testing;  // NOLINT: the words of this module's tests.
using ::testing::HasSubstr;

/// A field that no version of ours has, as a newer server would write it.
std::string future_field() {
  WireWriter out;
  out.text(1000, "from the future");
  return out.bytes();
}

std::vector<Command> one_of_each() {
  const std::string unknown = future_field();
  NodeSpec node = spec("a");
  node.weight = 7;
  node.unknown = unknown;
  NodeSpec tagged = service_spec("a", "search", {{"zone", "b"}, {"empty", ""}});
  tagged.unknown = unknown;
  const Observation seen{NodeId("a"), Generation(uuid(3)), at(7), 42};
  return {
      RegisterNode{node, unknown},
      DeregisterNode{NodeId("a"), Generation(uuid(3)), unknown},
      BatchHeartbeat{
          9,
          {{0, NodeState::kActive}, {1, NodeState::kUnknown}, {70000, NodeState::kDraining}},
          unknown},
      MarkSuspect{seen, unknown},
      MarkDown{seen, unknown},
      RemoveJoining{seen, unknown},
      Drain{NodeId("a"), true, unknown},
      SetRingConfig{{32, 5, unknown}, unknown},
      SetDrain{NodeId("a"), true, unknown},
      SetDrain{NodeId("a"), false, unknown},
      RegisterServiceNode{tagged, unknown},
  };
}

TEST(CodecTest, EveryCommandReturnsAsItWasUnknownFieldsIncluded) {
  for (const Command& command : one_of_each()) {
    const TimedCommand timed{at(5), command, {}};
    const std::string bytes = encode(timed);
    const Result<TimedCommand> decoded = decode_command(bytes);
    ASSERT_TRUE(decoded) << name(command);
    EXPECT_EQ(*decoded, timed) << name(command);
    EXPECT_EQ(encode(*decoded), bytes);
  }
}

TEST(CodecTest, EmptyCommandsReturnToo) {
  for (const Command& command :
       {Command(DeregisterNode{}), Command(BatchHeartbeat{}), Command(MarkDown{}), Command(Drain{}),
        Command(SetRingConfig{{0, 0, {}}, {}})}) {
    const TimedCommand timed{{}, command, {}};
    const Result<TimedCommand> decoded = decode_command(encode(timed));
    ASSERT_TRUE(decoded) << name(command);
    EXPECT_EQ(*decoded, timed) << name(command);
  }
}

TEST(CodecTest, ABatchOfAThousandHeartbeatsTakesTwoBytesEachAtMost) {
  BatchHeartbeat batch{1000, {}, {}};
  for (Slot slot = 0; slot < 1000; ++slot) batch.beats.push_back({slot * 7, NodeState::kActive});
  EXPECT_LE(encode({at(0), batch, {}}).size(), 2032U);
}

TEST(CodecTest, AFieldBesideTheCommandIsKept) {
  WireWriter beside;
  beside.number(5, 77);
  const std::string bytes = encode({at(5), Drain{NodeId("a"), false, {}}, beside.bytes()});
  const Result<TimedCommand> decoded = decode_command(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->unknown, beside.bytes());
  EXPECT_EQ(encode(*decoded), bytes);
}

TEST(CodecTest, ACommandOfANewerServerIsNamedAsSuch) {
  WireWriter kind;
  kind.number(1, kFormatVersion);
  kind.message(500, "");
  WireWriter format;
  format.number(1, kFormatVersion + 1);
  format.message(10, "\xff");
  for (const std::string& bytes : {kind.bytes(), format.bytes()}) {
    const Result<TimedCommand> decoded = decode_command(bytes);
    ASSERT_TRUE(decoded.is(Errc::kUnsupported));
    EXPECT_THAT(decoded.error().message, HasSubstr("a newer server wrote this"));
  }
  EXPECT_TRUE(decode_snapshot(format.bytes()).is(Errc::kUnsupported));
}

TEST(CodecTest, DamagedCommandsAreCorrupt) {
  WireWriter no_kind, no_format, two_kinds;
  no_kind.number(1, 1);
  no_format.message(16, "");
  two_kinds.number(1, 1);
  two_kinds.message(16, "");
  two_kinds.message(17, "");
  // Beats that repeat a slot, come in two runs, or lie out of range.
  const auto batch = [](const std::vector<std::uint64_t>& beats, int runs) {
    WireWriter packed, body, out;
    for (const std::uint64_t b : beats) packed.varint(b);
    for (int i = 0; i < runs; ++i) body.message(2, packed.bytes());
    out.number(1, 1);
    out.message(12, body.bytes());
    return out.bytes();
  };
  ASSERT_TRUE(decode_command(batch({0x11, 0x11}, 1)));
  for (const std::string& bytes :
       {std::string(), no_kind.bytes(), no_format.bytes(), two_kinds.bytes(),
        batch({0x11, 0x01}, 1), batch({0x11}, 2), batch({std::uint64_t{kSlotsMax} << 4}, 1),
        batch({UINT64_MAX}, 1), std::string(kCommandBytesMax + 1, '\x08')}) {
    EXPECT_TRUE(decode_command(bytes).is(Errc::kCorrupt));
  }
}

Topology varied(unsigned nodes) {
  Topology topology;
  topology.apply(SetRingConfig{{32, 2, future_field()}, {}}, at(0));
  topology.pass_time(at(0), wall(-3600));
  topology.pass_time(at(1), wall(3600));
  for (unsigned i = 0; i < nodes; ++i) {
    NodeSpec node = spec("node-" + std::to_string(i), i);
    node.type = static_cast<NodeType>(1 + i % 3);
    node.weight = 1 + i % 5;
    if (i % 7 == 0) node.unknown = future_field();
    if (i % 5 == 1) set_service(node, i % 2 == 0 ? "search" : "queue-2");
    if (i % 13 == 0) node.tags = {{"zone", std::to_string(i)}, {"rack", ""}};
    topology.apply(registration_of(node), at(i));
    if (i % 2 == 0) topology.apply(beat(topology, node.id.value()), at(i));
    if (i % 4 == 0) topology.apply(MarkSuspect{observe(*topology.find(node.id)), {}}, at(i));
    if (i % 8 == 0) topology.apply(MarkDown{observe(*topology.find(node.id)), {}}, at(i));
    if (i % 6 == 0) topology.apply(Drain{node.id, false, {}}, at(i));
    if (i % 10 == 0) topology.apply(SetDrain{node.id, true, {}}, at(i));
    if (i % 9 == 0) topology.apply(RegisterNode{spec(node.id.value(), i + 1), {}}, at(i));
    if (i % 11 == 10) topology.apply(DeregisterNode{node.id, {}, {}}, at(i));
  }
  return topology;
}

TEST(CodecTest, ASnapshotOfAHundredThousandNodesReturnsAsItWas) {
  constexpr unsigned kNodes = 100'000;
  const Topology topology = varied(kNodes);
  const std::string bytes = encode_snapshot(topology);
  const Result<Topology> decoded = decode_snapshot(bytes);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->version(), topology.version());
  EXPECT_EQ(decoded->log_time(), topology.log_time());
  EXPECT_EQ(decoded->calendar(), topology.calendar());
  EXPECT_EQ(decoded->calendar().marks().size(), 2U);
  EXPECT_EQ(decoded->drains(), topology.drains());
  EXPECT_EQ(decoded->registrations(), topology.registrations());
  EXPECT_EQ(decoded->ring(), topology.ring());
  ASSERT_EQ(decoded->size(), topology.size());
  topology.for_each([&](const NodeEntry& node) {
    ASSERT_NE(decoded->find(node.id), nullptr);
    EXPECT_EQ(*decoded->find(node.id), node);
    EXPECT_EQ(decoded->at(node.slot), decoded->find(node.id));
  });
  for (std::uint8_t s = 0; s < kNodeStates; ++s) {
    EXPECT_EQ(decoded->count(static_cast<NodeState>(s)), topology.count(static_cast<NodeState>(s)));
  }
  EXPECT_EQ(encode_snapshot(*decoded), bytes);
}

// Upgrade and rollback: an old server applies, snapshots and restores what a newer one wrote.
TEST(CodecTest, UnknownFieldsOfARegistrationReachTheSnapshotAndReturn) {
  NodeSpec node = spec("a");
  node.unknown = future_field();
  const auto command = decode_command(encode({at(0), RegisterNode{node, {}}, {}}));
  ASSERT_TRUE(command);
  Topology topology;
  topology.apply(*command);
  const Result<Topology> decoded = decode_snapshot(encode_snapshot(topology) + future_field());
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->find(NodeId("a"))->unknown, future_field());
  EXPECT_EQ(decoded->unknown(), future_field());
  EXPECT_EQ(encode_snapshot(*decoded), encode_snapshot(topology) + future_field());
}

TEST(CodecTest, ATagThatComesTwiceIsCorrupt) {
  WireWriter tag, node, body, out;
  tag.text(1, "zone");
  node.message(19, tag.bytes());
  body.message(1, node.bytes());
  out.number(1, 1);
  out.message(19, body.bytes());
  ASSERT_TRUE(decode_command(out.bytes()));
  node.message(19, tag.bytes());
  WireWriter twice, again;
  twice.message(1, node.bytes());
  again.number(1, 1);
  again.message(19, twice.bytes());
  EXPECT_TRUE(decode_command(again.bytes()).is(Errc::kCorrupt));
}

/// Whatever the input, decoding answers; what it accepts has one form that returns as it was.
void expect_decoding_is_total(const std::string& bytes) {
  if (const auto command = decode_command(bytes)) {
    const auto again = decode_command(encode(*command));
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *command);
  } else {
    EXPECT_TRUE(command.is(Errc::kCorrupt) || command.is(Errc::kUnsupported));
  }
  if (const auto topology = decode_snapshot(bytes)) {
    const std::string form = encode_snapshot(*topology);
    const auto again = decode_snapshot(form);
    ASSERT_TRUE(again);
    EXPECT_EQ(encode_snapshot(*again), form);
  } else {
    EXPECT_TRUE(topology.is(Errc::kCorrupt) || topology.is(Errc::kUnsupported));
  }
}

TEST(CodecTest, GarbageNeverCrashesTheDecoders) {
  Random random(20);
  std::vector<std::string> seeds = {encode_snapshot(varied(12)), ""};
  for (const Command& command : one_of_each()) seeds.push_back(encode({at(5), command, {}}));
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = seeds[random.below(seeds.size())];
    for (std::uint64_t n = random.below(4); n > 0 && !bytes.empty(); --n) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    if (random.chance(0.3)) bytes.resize(random.below(bytes.size() + 1));
    if (random.chance(0.1)) bytes += static_cast<char>(random.below(256));
    expect_decoding_is_total(bytes);
    if (HasFatalFailure()) return;
  }
}

}  // namespace codec_test
}  // namespace muster::membership
