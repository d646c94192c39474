// Several writers at once: one wins, nothing is lost.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "testing/stage.h"

namespace muster::testing_impl {
namespace {

using pub::Code;

/// True if a failed write says nothing about the race: it may or may not have landed, or it can be
/// tried again.
bool unsettled(Code code) {
  return code == Code::kAmbiguous || code == Code::kUnavailable || code == Code::kThrottled;
}

/// One write by each of `handles`, all at one condition; exactly one may succeed.
void race(Stage& stage, const std::vector<Handle*>& handles, const std::string& key,
          const pub::WriteCondition& when) {
  std::atomic<int> won{0};
  std::atomic<int> open{0};
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < handles.size(); ++i) bodies.push_back(stage.fresh_body());
  on_threads(handles.size(), [&](std::size_t i) {
    const auto made = handles[i]->put(key, bodies[i], when);
    if (made) {
      ++won;
    } else if (unsettled(made.code())) {
      ++open;
    } else {
      expect_failure(made, Code::kConflict, "put() of a loser of a race");
    }
  });
  expect(won <= 1,
         std::to_string(won) +
             " of several writers that raced at one condition were told that they had won");
  expect(won == 1 || open > 0, "none of several writers that raced at one condition won");
}

void one_creator_wins(Stage& stage) {
  std::vector<Handle*> handles = {&stage.one(), &stage.two()};
  while (handles.size() < 8) handles.push_back(&stage.open());
  for (int round = 0; round < 10; ++round) {
    const std::string key = "round/" + std::to_string(round);
    race(stage, handles, key, absent());
    stage.body_of(stage.one(), key);
  }
}

void one_replacer_wins(Stage& stage) {
  std::vector<Handle*> handles = {&stage.one(), &stage.two()};
  while (handles.size() < 8) handles.push_back(&stage.open());
  for (int round = 0; round < 10; ++round) {
    const std::string key = "round/" + std::to_string(round);
    race(stage, handles, key, at(stage.create(key)));
    stage.body_of(stage.one(), key);
  }
}

void overlapping_calls(Stage& stage) {
  const int threads = std::min(stage.one().traits().threads, 8);
  if (threads <= 1) return;
  const std::vector<Handle*> handles(static_cast<std::size_t>(threads), &stage.one());
  for (int round = 0; round < 10; ++round) {
    const std::string key = "round/" + std::to_string(round);
    race(stage, handles, key, at(stage.create(key)));
  }
}

/// Adds `entry` to the list by compare-and-swap, as often as it takes.
void append(const Handle& handle, const std::string& entry) {
  constexpr int kTries = 20'000;
  for (int i = 0; i < kTries; ++i) {
    const auto read = handle.get("list");
    if (!read && unsettled(read.code())) continue;
    expect(read.ok(), "get() in a race " + outcome(read));
    // What an ambiguous write of the turn before did shows here.
    if ((read->body + "\n").find("\n" + entry + "\n") != std::string::npos) return;
    const auto made = handle.put("list", read->body + "\n" + entry, at(read->revision));
    if (made) return;
    if (!unsettled(made.code()))
      expect_failure(made, Code::kConflict, "put() of a loser of a race");
  }
  throw Broken("a writer did not win any of " + std::to_string(kTries) + " races");
}

void no_swap_is_lost(Stage& stage) {
  constexpr std::size_t kWriters = 4;
  constexpr std::size_t kEach = 15;
  std::vector<Handle*> handles = {&stage.one(), &stage.two(), &stage.open(), &stage.open()};
  stage.written(stage.one(), "list", "start", absent());
  on_threads(kWriters, [&](std::size_t writer) {
    for (std::size_t i = 0; i < kEach; ++i)
      append(*handles[writer], std::to_string(writer) + "." + std::to_string(i));
  });
  const std::string list = stage.body_of(stage.one(), "list");
  const auto entries = static_cast<std::size_t>(std::count(list.begin(), list.end(), '\n'));
  expect(entries == kWriters * kEach, std::to_string(kWriters * kEach) +
                                          " compare-and-swaps succeeded, and " +
                                          std::to_string(entries) + " of them are there");
}

}  // namespace

const std::vector<Check>& race_checks() {
  static const auto& checks = *new std::vector<Check>{
      {"one creator wins", one_creator_wins},
      {"one replacer wins", one_replacer_wins},
      {"overlapping calls", overlapping_calls},
      {"no swap is lost", no_swap_is_lost},
  };
  return checks;
}

}  // namespace muster::testing_impl
