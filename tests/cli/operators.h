#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/cli/muster_program.h"

// What operators ask of a leader, asked of muster worker on any store.
namespace muster {

/// Asks the leader of "default" and waits for the acknowledgement; who obeyed.
inline std::string obeyed(const std::string& store, const Words& command) {
  Words words = command;
  words.insert(words.end(), {"--arbiter", store, "--name", "default", "--json"});
  const Outcome outcome = run_muster(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.code == 0 ? outcome.json()["acknowledgedBy"].get<std::string>() : "";
}

/// Two workers, and a third one at the end, on `store`: every command reaches the one that leads.
inline void step_down_pause_resume_and_transfer(const std::string& store) {
  // The lease is long enough that only a hand-over can be this quick.
  const std::string lease = "30s";
  Worker first(store, "w1", {}, lease);
  ASSERT_FALSE(first.next("term:began").is_null());
  Worker second(store, "w2", {}, lease);
  ASSERT_EQ(first.next("workers:updated")["workers"], (Words{"w1", "w2"}));

  EXPECT_EQ(obeyed(store, {"pause"}), "w1");
  EXPECT_EQ(first.next("command")["kind"], "pause");
  EXPECT_EQ(first.next("term:ended")["reason"], "released");
  EXPECT_EQ(second.next("term:began")["epoch"], 2);

  EXPECT_EQ(obeyed(store, {"resume"}), "w1");
  EXPECT_EQ(obeyed(store, {"step-down"}), "w2");
  EXPECT_EQ(second.next("term:ended")["reason"], "released");
  EXPECT_EQ(first.next("term:began")["epoch"], 3) << "it is not held off after its pause";

  Worker third(store, "w3", {}, lease);
  nlohmann::json updated;
  do {
    updated = first.next("workers:updated");
    ASSERT_FALSE(updated.is_null());
  } while (updated["workers"] != Words{"w1", "w2", "w3"});
  EXPECT_EQ(obeyed(store, {"transfer", "--to", "w3"}), "w1");
  EXPECT_EQ(third.next("term:began")["epoch"], 4);
}

}  // namespace muster
