#include "tests/sim/replay.h"

#include <gtest/gtest.h>

#include <sstream>

namespace muster::sim {
namespace replay_test {

constexpr const char* kHead = "{\"record\":1,\"version\":9,\"newest\":9}\n";

std::string decision(int seq, const std::string& id, const std::string& from, const std::string& to,
                     const std::string& cause, const std::string& more = "") {
  return "{\"seq\":" + std::to_string(seq) + ",\"at\":" + std::to_string(1000 * seq) +
         ",\"kind\":\"transition\",\"subject\":\"" + id + "\",\"from\":\"" + from + "\",\"to\":\"" +
         to + "\",\"cause\":\"" + cause + "\"" + more + "}\n";
}

ReplayReport run(const std::string& text) {
  std::istringstream in(text);
  return replay(in);
}

const std::string kSilence = ",\"silence_ms\":46000,\"suspect_after_ms\":45000";
const std::string kLongSilence =
    ",\"silence_ms\":91000,\"down_after_ms\":90000,\"listened_ms\":95000,\"grace_ms\":90000,"
    "\"down_allowed\":1,\"down_in_use\":0";

TEST(ReplayTest, TheLifeOfANodeIsLivedAgain) {
  const ReplayReport report = run(
      kHead + decision(1, "n1", "", "JOINING", "registered") +
      decision(2, "n1", "JOINING", "ACTIVE", "heartbeat") +
      decision(3, "n1", "ACTIVE", "SUSPECT", "silence", kSilence) +
      decision(4, "n1", "SUSPECT", "DOWN", "silence", kLongSilence) +
      decision(5, "n1", "DOWN", "JOINING", "replaced") +
      decision(6, "n1", "JOINING", "DRAINING", "asked") +
      decision(7, "n2", "SUSPECT", "ACTIVE", "heartbeat") +
      decision(8, "n2", "ACTIVE", "", "deregistered") +
      "{\"nodes\":[{\"id\":\"n1\",\"state\":\"DRAINING\"},{\"id\":\"old\",\"state\":\"DOWN\"}]}\n");
  EXPECT_EQ(report.violation, "");
  EXPECT_EQ(report.decisions, 8U);
  EXPECT_EQ(report.nodes, 1U);
}

TEST(ReplayTest, WhatCannotHaveHappenedIsFound) {
  const std::string joined = kHead + decision(1, "n1", "", "JOINING", "registered");
  EXPECT_NE(run(joined + decision(2, "n1", "JOINING", "DOWN", "silence", kLongSilence)).violation,
            "");
  EXPECT_NE(run(joined + decision(2, "n1", "JOINING", "SUSPECT", "heartbeat")).violation, "");
  EXPECT_NE(run(joined + "{\"nodes\":[{\"id\":\"n1\",\"state\":\"ACTIVE\"}]}\n").violation, "");
  EXPECT_NE(run(joined + "{\"nodes\":[]}\n").violation, "");
  EXPECT_NE(run(joined).violation, "") << "it has no end";
  EXPECT_NE(run("{\"nodes\":[]}\n").violation, "") << "it has no head";
  EXPECT_NE(run("garbage\n").violation, "");
  const std::string active = joined + decision(2, "n1", "JOINING", "ACTIVE", "heartbeat");
  EXPECT_EQ(run(active + decision(3, "n1", "ACTIVE", "SUSPECT", "silence",
                                  ",\"silence_ms\":1,\"suspect_after_ms\":45000"))
                .violation,
            "decision 3 came before its timeout");
}

}  // namespace replay_test
}  // namespace muster::sim
