#include "rpc/read_pace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster::rpc {
namespace read_pace_test {

constexpr Duration kPatience = 100us;

/// A client and the server that reads it, for some time. The client sends one message every `gap`
/// while fewer than `in_flight` are unanswered; an answer takes `way` to it and its next message as
/// long. The server reads all that there is and answers it at once, after kPatience when it is
/// patient.
struct Talk {
  Duration gap;
  std::uint32_t in_flight;
  Duration way = 10us;

  std::uint64_t messages = 0;
  std::uint64_t reads = 0;
  std::uint64_t patient_messages = 0;

  void run(ReadPace& pace, Duration time, MonoTime& now) {
    const MonoTime end = now + time;
    MonoTime next_send = now;
    bool patient = false;
    while (now < end) {
      // What has come when the server looks; the first message wakes it unless it is patient.
      MonoTime look = std::max(now, next_send + way);
      if (patient) look = std::max(look, now + kPatience);
      std::uint32_t there = 0;
      while (there < in_flight && next_send + way <= look) {
        ++there;
        next_send += gap;
      }
      now = look;
      if (there == in_flight) next_send = std::max(next_send, now + way);
      messages += there;
      ++reads;
      if (patient) patient_messages += there;
      patient = pace.read(there, now);
      now += 2us;
    }
  }
  [[nodiscard]] double patient_part() const {
    return static_cast<double>(patient_messages) / static_cast<double>(messages);
  }
};

TEST(ReadPaceTest, ManyMessagesOneByOneAreReadPatiently) {
  ReadPace pace;
  MonoTime now{1s};
  Talk talk{.gap = 12us, .in_flight = 256};
  talk.run(pace, 5s, now);
  EXPECT_GT(talk.patient_part(), 0.9);
  EXPECT_GT(talk.messages, talk.reads * 6);
}

// A client that waits for each answer is never slower for it, however fast it is.
TEST(ReadPaceTest, OneMessageAtATimeIsReadAtOnce) {
  for (const Duration way : {2us, 10us, 50us}) {
    ReadPace pace;
    MonoTime now{1s};
    Talk talk{.gap = 0us, .in_flight = 1, .way = way};
    talk.run(pace, 10s, now);
    EXPECT_LT(talk.patient_part(), 0.001);
  }
}

// Of a client that has a few under way each would wait for the delay.
TEST(ReadPaceTest, AFewAtATimeAreNotHeldUp) {
  for (const std::uint32_t few : {2U, 3U, 4U}) {
    ReadPace pace;
    MonoTime now{1s};
    Talk talk{.gap = 5us, .in_flight = few};
    talk.run(pace, 10s, now);
    EXPECT_LT(talk.patient_part(), 0.02) << few;
  }
}

TEST(ReadPaceTest, WhatComesTogetherAnywayIsReadAtOnce) {
  ReadPace pace;
  for (MonoTime now{1s}; now < MonoTime{2s}; now += 50us) {
    EXPECT_FALSE(pace.read(40, now));
  }
}

TEST(ReadPaceTest, FewMessagesAreReadAtOnce) {
  ReadPace pace;
  for (MonoTime now{1s}; now < MonoTime{3s}; now += 100us) EXPECT_FALSE(pace.read(1, now));
}

TEST(ReadPaceTest, AfterAPauseItIsReadAtOnce) {
  ReadPace pace;
  MonoTime now{1s};
  Talk talk{.gap = 12us, .in_flight = 256};
  talk.run(pace, 50ms, now);
  EXPECT_FALSE(pace.read(1, now + 1s));
  // Reads that bring nothing whole say nothing.
  EXPECT_FALSE(pace.read(0, now + 1s));
}

// Anyone who could not be delayed once may be another one a moment later.
TEST(ReadPaceTest, ATrialThatFailedIsRepeatedLater) {
  ReadPace pace;
  MonoTime now{1s};
  Talk lone{.gap = 0us, .in_flight = 1, .way = 2us};
  lone.run(pace, 100ms, now);
  EXPECT_GT(lone.patient_messages, 0u);
  Talk many{.gap = 12us, .in_flight = 256};
  many.run(pace, 2s, now);
  EXPECT_GT(many.patient_part(), 0.8);
}

}  // namespace read_pace_test
}  // namespace muster::rpc
