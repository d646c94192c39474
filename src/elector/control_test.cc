#include "elector/control.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "sim/faulty_store.h"
#include "sim/world.h"

namespace muster {
namespace control_test {

const Key kKey = "control.json";

ControlCommand step_down(const char* id, std::uint64_t epoch) {
  return {id, ControlKind::kStepDown, Epoch(epoch), {}, wall_from_ms(5)};
}

TEST(ControlRecordTest, SurvivesItsEncoding) {
  ControlRecord record;
  record.command = {"id-1", ControlKind::kTransfer, Epoch(7), WorkerId("b"), wall_from_ms(5)};
  EXPECT_EQ(*decode_control(encode(record)), record);
  record.ack = ControlAck{"id-1", WorkerId("a"), wall_from_ms(6)};
  EXPECT_EQ(*decode_control(encode(record)), record);
}

TEST(ControlRecordTest, WhatIsNoCommandIsRefused) {
  for (const char* body :
       {"", "[]", R"({"command":"pause","epoch":1})", R"({"id":"x","command":"dance","epoch":1})",
        R"({"id":"x","command":"pause"})", R"({"id":"x","command":"pause","epoch":"1"})",
        R"({"id":"x","command":"pause","epoch":-1})",
        R"({"id":"x","command":"transfer","epoch":1})"}) {
    EXPECT_TRUE(decode_control(body).is(Errc::kCorrupt)) << body;
  }
}

class ControlTest : public ::testing::Test {
 protected:
  ControlReader reader_for(const char* node) {
    return ControlReader(process, store, kKey, WorkerId(node), 1s,
                         {.offer = [this](const ControlCommand& c) { return c.epoch == epoch; },
                          .accepted = [this](const ControlCommand& c) { obeyed.push_back(c.id); },
                          .on_error = [this](const Error& e) { errors.push_back(e.message); },
                          .on_bad = [this](const Error& e) { bad.push_back(e.message); }});
  }
  void write(const ControlCommand& command) {
    Status outcome{Errc::kCancelled, "never answered"};
    write_control(store, kKey, command, process.now() + 5s,
                  [&](const Status& status) { outcome = status; });
    run();
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
  }
  void run() { world.run(world.now() + 5s); }
  ControlRecord stored() { return *decode_control(shared->objects->entries().at(kKey).body); }

  sim::World world{1};
  sim::Process process{world, 1.0, 0s};
  std::shared_ptr<sim::SharedStore> shared = std::make_shared<sim::SharedStore>();
  sim::FaultyStore store{world, process, shared};
  Epoch epoch{3};
  std::vector<std::string> obeyed;
  std::vector<std::string> errors;
  std::vector<std::string> bad;
};

TEST_F(ControlTest, ACommandIsObeyedOnceAndAcknowledgedInItsPlace) {
  ControlReader reader = reader_for("a");
  reader.look();
  run();
  write(step_down("one", 3));
  for (int i = 0; i < 3; ++i) {
    reader.look();
    run();
  }
  EXPECT_EQ(obeyed, std::vector<std::string>{"one"});
  EXPECT_EQ(stored().command, step_down("one", 3));
  ASSERT_TRUE(stored().ack.has_value());
  EXPECT_EQ(stored().ack->id, "one");
  EXPECT_EQ(stored().ack->by, WorkerId("a"));
  EXPECT_FALSE(reader.owes());
}

TEST_F(ControlTest, ACommandForAnotherEpochIsNeverObeyed) {
  ControlReader reader = reader_for("a");
  write(step_down("old", 2));
  reader.look();
  run();
  epoch = Epoch(2);
  reader.look();
  run();
  EXPECT_TRUE(obeyed.empty());
  EXPECT_FALSE(stored().ack.has_value());
}

TEST_F(ControlTest, AnAcknowledgementIsRepeatedUntilItHasLanded) {
  ControlReader reader = reader_for("a");
  write(step_down("one", 3));
  shared->faults.error_before = 1;
  reader.look();
  run();
  EXPECT_TRUE(obeyed.empty()) << "it could not be read";
  EXPECT_EQ(errors.size(), 1u);
  shared->faults.error_before = 0;
  reader.look();
  while (obeyed.empty()) world.run(world.now() + 1ms);
  // The acknowledgement is on its way, at a revision that is no longer there.
  (void)shared->objects->put(kKey, encode(ControlRecord{step_down("one", 3), {}}), {}, {},
                             MonoTime());
  run();
  EXPECT_TRUE(reader.owes());
  EXPECT_FALSE(stored().ack.has_value());
  reader.look();
  run();
  EXPECT_FALSE(reader.owes());
  EXPECT_TRUE(stored().ack.has_value());
  EXPECT_EQ(obeyed, std::vector<std::string>{"one"});
}

TEST_F(ControlTest, ALaterCommandTakesThePlaceOfAnEarlierOne) {
  ControlReader reader = reader_for("a");
  write(step_down("one", 3));
  write(step_down("two", 3));
  reader.look();
  run();
  EXPECT_EQ(obeyed, std::vector<std::string>{"two"});
}

TEST_F(ControlTest, GarbageIsReportedAndDoesNoHarm) {
  (void)shared->objects->put(kKey, "garbage", {}, {}, MonoTime());
  ControlReader reader = reader_for("a");
  reader.look();
  run();
  EXPECT_EQ(bad.size(), 1u);
  write(step_down("one", 3));
  reader.look();
  run();
  EXPECT_EQ(obeyed, std::vector<std::string>{"one"});
}

TEST_F(ControlTest, BracketsWithoutEndAreRefusedBeforeTheyTakeMemory) {
  const std::string deep(1000, '[');
  EXPECT_EQ(decode_control(deep).error().message,
            "control.json: the body nests deeper than 32 levels");
}

// R46: of two commands that are written at once one is told that it lost, whichever that is.
TEST_F(ControlTest, ACommandNeverOverwritesOneThatItHasNotSeen) {
  for (const bool there_is_one_before : {false, true}) {
    if (there_is_one_before) write(step_down("before", 3));
    std::map<std::string, Status> outcomes;
    for (const char* id : {"one", "two"}) {
      write_control(store, kKey, step_down(id, 3), process.now() + 5s,
                    [&outcomes, id](const Status& status) {
                      outcomes.insert({id, status});
                    });
    }
    run();
    ASSERT_EQ(outcomes.size(), 2u);
    const std::string stands = stored().command.id;
    const std::string lost = stands == "one" ? "two" : "one";
    EXPECT_TRUE(outcomes.at(stands).ok());
    EXPECT_TRUE(outcomes.at(lost).is(Errc::kConflict));
    (void)shared->objects->remove(kKey, {});
  }
}

// R46: an acknowledgement does not bring back a command whose place another has taken.
TEST_F(ControlTest, AnAcknowledgementNeverOverwritesALaterCommand) {
  ControlReader reader = reader_for("a");
  write(step_down("one", 3));
  reader.look();
  while (obeyed.empty()) world.run(world.now() + 1ms);
  (void)shared->objects->put(kKey, encode(ControlRecord{step_down("two", 3), {}}), {}, {},
                             MonoTime());
  run();
  EXPECT_EQ(stored().command.id, "two");
}

TEST_F(ControlTest, AWriteThatAProxySentTwiceIsRecognised) {
  shared->faults.resent_unseen = 1;
  write(step_down("one", 3));
  EXPECT_EQ(stored().command.id, "one");
}

}  // namespace control_test
}  // namespace muster
