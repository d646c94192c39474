#include "core/cluster/decision.h"

#include <gtest/gtest.h>

#include "core/cluster/cluster_state.h"
#include "core/cluster/snapshot.h"
#include "core/election/records.h"
#include "core/membership/testing.h"
#include "core/membership/wire.h"

namespace muster::cluster {
namespace decision_test {

using membership::testing::at;
using membership::testing::beat;
using membership::testing::registration;
using membership::testing::seen;
using membership::testing::wall;

class DecisionTest : public ::testing::Test {
 protected:
  void apply(const Command& command, std::int64_t second = 0) {
    auto applied = state_.apply(encode(command), {++index_, 0, at(second)});
    ASSERT_TRUE(applied);
    ASSERT_TRUE(applied->answer) << applied->answer.error().message;
  }
  [[nodiscard]] Decision last() const { return *state_.decisions().last(1).front(); }
  [[nodiscard]] std::string told() const { return sentence(last()); }

  static std::string leading(const std::string& worker, std::uint64_t epoch, std::int64_t second) {
    LeaderState state;
    state.leader = WorkerId(worker);
    state.epoch = Epoch(epoch);
    state.incarnation = Incarnation("i-" + worker);
    state.nonce = Nonce("n" + std::to_string(epoch));
    state.lease = 15s;
    state.written_at = wall(second);
    return encode(state);
  }

  ClusterState state_;
  std::uint64_t index_ = 0;
};

TEST_F(DecisionTest, EveryTransitionIsToldWithItsCause) {
  state_.begin_term("s1", Epoch(7), at(0), wall(0));
  apply(ChangeTopology{registration("n1"), {"10.0.0.9", {}}});
  EXPECT_EQ(told(), "n1 registered and is JOINING, asked by 10.0.0.9");
  EXPECT_EQ(last().epoch, 7U);
  apply(ChangeTopology{beat(state_.topology(), "n1")}, 1);
  EXPECT_EQ(told(), "n1 went from JOINING to ACTIVE: its first heartbeat came");

  membership::Cause cause;
  cause.last_heartbeat_at = wall(1);
  cause.silence = 90123ms;
  cause.timeouts = {90s, 135s, 3, true};
  apply(ChangeTopology{membership::MarkSuspect{seen(state_.topology(), "n1"), {}}, {{}, cause}},
        91);
  EXPECT_EQ(told(),
            "n1 went from ACTIVE to SUSPECT: no heartbeat for 90.1s (limit 90s, doubled because "
            "it was suspected 3 times recently)");
  EXPECT_EQ(last().cause->last_heartbeat_at, wall(1));

  cause.silence = 135s;
  cause.listened = 200s;
  cause.grace = 90s;
  cause.down_allowed = 2;
  cause.down_in_use = 1;
  apply(ChangeTopology{membership::MarkDown{seen(state_.topology(), "n1"), {}}, {{}, cause}}, 136);
  EXPECT_NE(told().find("no heartbeat for 135s"), std::string::npos) << told();
  EXPECT_NE(told().find("1 of 2 allowed by the brake"), std::string::npos) << told();

  apply(ChangeTopology{registration("n1", 2)}, 140);
  EXPECT_EQ(told(), "n1 was DOWN; a new process took its place and is JOINING");
  apply(ChangeTopology{beat(state_.topology(), "n1")}, 141);
  apply(ChangeTopology{membership::Drain{NodeId("n1"), false, {}}, {"admin ann", {}}}, 142);
  EXPECT_EQ(told(), "n1 went from ACTIVE to DRAINING: by request, asked by admin ann");
  apply(ChangeTopology{membership::SetDrain{NodeId("n1"), false, {}}, {"admin ann", {}}}, 143);
  EXPECT_EQ(told(), "n1 went from DRAINING to ACTIVE: by request, asked by admin ann");
  apply(ChangeTopology{registration("n1", 3)}, 143);
  apply(ChangeTopology{membership::SetDrain{NodeId("n1"), true, {}}, {"admin ann", {}}}, 143);
  EXPECT_EQ(told(), "n1 stays JOINING: by request, asked by admin ann; it is to be drained");
  apply(ChangeTopology{beat(state_.topology(), "n1")}, 143);
  EXPECT_EQ(told(), "n1 went from JOINING to DRAINING: by request");
  apply(ChangeTopology{membership::DeregisterNode{NodeId("n1"), {}, {}}}, 143);
  EXPECT_EQ(told(), "n1 was DRAINING and was removed");
  EXPECT_EQ(state_.decisions().about("n1").size(), 12U);
}

TEST_F(DecisionTest, LeadersOfTheServersAreToldFromTheFirstEntryOfTheirTerms) {
  state_.begin_term("s1", Epoch(1), at(0), wall(0));
  EXPECT_EQ(told(), "s1 leads the servers, epoch 1: there was no leader before");
  apply(StorePut{"k", "v", AnyVersion{}, {}, {}}, 30);
  state_.begin_term("s2", Epoch(2), at(40), wall(40));
  EXPECT_EQ(told(), "s2 leads the servers, epoch 2: s1 was no longer heard");
  apply(
      Note{DecisionKind::kLeader, kServersSubject, Why::kResigned, "it was asked to stop", {}, {}});
  state_.begin_term("s3", Epoch(3), at(50), wall(50));
  EXPECT_EQ(told(), "s3 leads the servers, epoch 3: s2 handed over; it was asked to stop");
  EXPECT_EQ(state_.leadership().server, "s3");
  EXPECT_EQ(state_.leadership().since, at(50));
  EXPECT_EQ(state_.decisions().newest(), 3U);
}

TEST_F(DecisionTest, ElectionsInTheStoreAreTold) {
  const std::string key = "plugin=coordinator/namespace=jobs/state.json";
  apply(StorePut{key, leading("w1", 1, 0), AnyVersion{}, {}, {}});
  EXPECT_EQ(told(), "w1 leads namespace=jobs, epoch 1: there was no leader before");
  apply(StorePut{key, leading("w1", 1, 5), AnyVersion{}, {}, {}}, 5);
  EXPECT_EQ(state_.decisions().newest(), 1U) << "a renewal is no decision";
  apply(StorePut{key, leading("w2", 2, 30), AnyVersion{}, {}, {}}, 30);
  EXPECT_EQ(told(), "w2 leads namespace=jobs, epoch 2: w1 was no longer heard");
  apply(StorePut{key, leading("w3", 3, 31), AnyVersion{}, {}, {}}, 31);
  EXPECT_EQ(last().kind, DecisionKind::kDisplaced);
  apply(StorePut{key, "no JSON", AnyVersion{}, {}, {}}, 32);
  apply(StorePut{"app/" + key, leading("w9", 1, 0), AnyVersion{}, {}, {}}, 33);
  EXPECT_EQ(last().subject, "namespace=app/jobs");
  EXPECT_EQ(state_.decisions().newest(), 4U);
}

// R25: whether a lease stood is measured by log time, within one term of the servers.
TEST_F(DecisionTest, NoWallClockMakesATakeoverAContention) {
  const std::string key = "plugin=coordinator/namespace=jobs/state.json";
  constexpr std::int64_t kTenYears = 3652LL * 86400;
  state_.begin_term("s1", Epoch(1), at(0), wall(0));
  apply(StorePut{key, leading("w1", 1, kTenYears), AnyVersion{}, {}, {}}, 1);
  apply(StorePut{key, leading("w2", 2, 30), AnyVersion{}, {}, {}}, 30);
  EXPECT_EQ(last().kind, DecisionKind::kLeader) << "the clock of w1 was ten years ahead";
  // While no server led, log time stood still and the lease ran out.
  state_.begin_term("s2", Epoch(2), at(31), wall(3600));
  apply(StorePut{key, leading("w3", 3, 3601), AnyVersion{}, {}, {}}, 32);
  EXPECT_EQ(last().kind, DecisionKind::kLeader);
  EXPECT_EQ(last().at, wall(3601));
}

TEST_F(DecisionTest, AWorkerWhoseBreakerOpenedIsToldOnceItIsBack) {
  const std::string key = "app/plugin=coordinator/namespace=jobs/workers/worker=w2.json";
  WorkerRecord record;
  record.worker = WorkerId("w2");
  record.incarnation = Incarnation("i");
  const auto write = [&](std::int64_t second, std::optional<Outage> outage) {
    record.nonce = Nonce(std::to_string(index_));
    record.outage = outage;
    apply(StorePut{key, encode(record), AnyVersion{}, {}, {}}, second);
  };
  write(0, {});
  write(9, {});
  EXPECT_EQ(state_.decisions().newest(), 0U) << "a worker that reaches the store decides nothing";

  // The time of the tests begins at 22:13:20 UTC.
  write(60, Outage{wall(20), 31500ms, 7, 3});
  EXPECT_EQ(told(),
            "w2 of namespace=app/jobs reaches the store again; it could not from 22:13:40 UTC for "
            "31.5s: 7 heartbeats failed, and its breaker opened 3 times");
  EXPECT_EQ(last().kind, DecisionKind::kBreaker);
  EXPECT_STREQ(to_string(last().kind), "breaker");
  EXPECT_EQ(last().subject, "namespace=app/jobs");
  EXPECT_EQ(last().to, "w2");
  EXPECT_EQ(last().at, wall(60));

  write(61, Outage{wall(20), 31500ms, 7, 3});
  EXPECT_EQ(state_.decisions().newest(), 1U) << "written again, as after an answer that was lost";
  write(70, {});
  EXPECT_EQ(state_.decisions().newest(), 1U);

  // It was away for so long that its file had been removed.
  apply(StoreRemove{key, AnyVersion{}, {}}, 400);
  write(500, Outage{wall(80), 420s, 1, 1});
  EXPECT_EQ(told(),
            "w2 of namespace=app/jobs reaches the store again; it could not from 22:14:40 UTC for "
            "420s: 1 heartbeat failed, and its breaker opened");
  EXPECT_EQ(state_.decisions().newest(), 2U);
}

TEST_F(DecisionTest, OnlyWorkersTellOfOutages) {
  WorkerRecord record;
  record.worker = WorkerId("w2");
  record.outage = Outage{wall(20), 31s, 7, 3};
  for (const char* key : {"plugin=coordinator/namespace=jobs/metadata.json",
                          "plugin=coordinator/namespace=jobs/workers",
                          "plugin=coordinator/namespace=/workers/worker=w2.json",
                          "xplugin=coordinator/namespace=jobs/workers/worker=w2.json",
                          "plugin=coordinator/namespace=jobs", "workers/worker=w2.json"}) {
    apply(StorePut{key, encode(record), AnyVersion{}, {}, {}});
    EXPECT_EQ(state_.decisions().newest(), 0U) << key;
  }
  apply(StorePut{
      "plugin=coordinator/namespace=jobs/workers/worker=w2.json", "no JSON", AnyVersion{}, {}, {}});
  EXPECT_EQ(state_.decisions().newest(), 0U);
}

TEST_F(DecisionTest, SurvivesASnapshotWithFieldsOfTheFuture) {
  state_.begin_term("s1", Epoch(4), at(0), wall(0));
  apply(ChangeTopology{registration("n1"), {"someone", membership::Cause{}}});
  apply(Note{DecisionKind::kBrake, "brake", Why::kBegan, "3 nodes wait", {}, {}});
  Decision newer = last();
  membership::WireWriter field;
  field.text(99, "of the future");
  newer.unknown = field.bytes();
  const auto back = decode_decision(encode(newer));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, newer);

  SnapshotParts parts(state_, 1);
  SnapshotAssembler assembler;
  while (auto part = parts.next()) ASSERT_TRUE(assembler.add(*part));
  auto restored = assembler.finish();
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->leadership(), state_.leadership());
  ASSERT_EQ(restored->decisions().size(), 3U);
  for (std::uint64_t seq = 0; seq < 3; ++seq) {
    EXPECT_EQ(*restored->decisions().after(seq, 1).front(),
              *state_.decisions().after(seq, 1).front());
  }
}

TEST_F(DecisionTest, WhatAnybodyMayWriteIsCut) {
  apply(StorePut{"plugin=coordinator/namespace=x/state.json",
                 leading(std::string(5000, 'w'), 1, 0),
                 AnyVersion{},
                 {},
                 {}});
  ASSERT_EQ(state_.decisions().size(), 1U);
  EXPECT_EQ(last().to.size(), kDecisionTextMax);
}

}  // namespace decision_test
}  // namespace muster::cluster
