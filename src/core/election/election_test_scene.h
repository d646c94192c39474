#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/election/election.h"

namespace muster {

inline constexpr MonoTime kStart{1000s};

inline ElectionConfig config_of(const char* id) {
  ElectionConfig config;
  config.id = WorkerId(id);
  config.incarnation = Incarnation(std::string("incarnation-of-") + id);
  config.jitter = 0s;
  return config;
}

inline LeaderState held_by(const char* id, std::uint64_t epoch, Duration lease = 15s) {
  LeaderState state;
  state.leader = WorkerId(id);
  state.epoch = Epoch(epoch);
  state.incarnation = Incarnation(std::string("incarnation-of-") + id);
  state.nonce = Nonce("nonce-of-" + std::string(id));
  state.lease = lease;
  return state;
}

/// In order, with a receipt; "b" is alive.
inline LeaderState released_by(const char* id, std::uint64_t epoch) {
  LeaderState state = held_by(id, epoch);
  state.leader.reset();
  state.released = ReleaseReceipt{WorkerId(id), state.incarnation, state.epoch};
  state.workers = {WorkerId("b")};
  return state;
}

/// One worker and a hand that answers for the store, so that a test reads as a timeline.
class Scene {
 public:
  explicit Scene(ElectionConfig config = config_of("b")) : election(std::move(config), Random(1)) {}

  template <typename T>
  [[nodiscard]] bool asks() const {
    return request && std::holds_alternative<T>(*request);
  }
  template <typename T>
  [[nodiscard]] const T& asked() const {
    return std::get<T>(*request);
  }
  template <typename T>
  [[nodiscard]] std::optional<T> saw() const {
    for (const ElectionEvent& event : events) {
      if (const T* found = std::get_if<T>(&event)) return *found;
    }
    return {};
  }

  void wake(MonoTime at) { take(election.wake(at)); }
  void reads(const LeaderState& state, const char* revision, MonoTime at) {
    take(election.state_read(SeenState{Revision(revision), state, {}, {}}, at));
  }
  void reads_unchanged(MonoTime at) { take(election.state_read(Error{Errc::kUnchanged, ""}, at)); }
  /// A heartbeat that finds what the last one found.
  void looks_again(MonoTime at) {
    wake(at);
    reads_unchanged(at);
  }
  void reads_absent(MonoTime at) { take(election.state_read(Error{Errc::kNotFound, ""}, at)); }
  void reads_garbage(const char* revision, Epoch salvaged, MonoTime at) {
    take(election.state_read(SeenState{Revision(revision), {}, "garbage", salvaged}, at));
  }
  void floor_is(std::uint64_t floor, MonoTime at, Duration lease_max = 15s,
                const char* revision = "f") {
    take(election.floor_read(SeenFloor{Revision(revision), Epoch(floor), lease_max, {}}, at));
  }
  void floor_unreadable(const char* problem, bool newer, MonoTime at) {
    take(election.floor_read(SeenFloor{Revision("f"), {}, {}, problem, newer}, at));
  }
  void floor_absent(MonoTime at) { take(election.floor_read(Error{Errc::kNotFound, ""}, at)); }
  void floor_raised(MonoTime at) { take(election.floor_raised(Revision("f2"), at)); }
  void written(const char* revision, MonoTime at) {
    take(election.state_written(Revision(revision), at));
  }
  void write_fails(Errc code, MonoTime at) {
    take(election.state_written(Error{code, "planted"}, at));
  }
  void workers_are(std::vector<WorkerId> ids, MonoTime at) {
    take(election.workers_listed(std::move(ids), at));
  }
  void store_went_back(MonoTime at) { take(election.store_went_back(at)); }
  void resign(ResignOptions options, MonoTime at) { take(election.resign(options, at)); }

  /// From nothing to the moment at which the write that acquires epoch 1 has been sent.
  void campaigns_in_a_new_namespace(MonoTime at) {
    wake(at);
    reads_absent(at);
    floor_absent(at);
    workers_are({}, at);
    floor_raised(at);
  }
  /// And on to leading, at revision r1.
  void becomes_leader(MonoTime at) {
    campaigns_in_a_new_namespace(at);
    written("r1", at);
    ASSERT_TRUE(election.leads(at));
  }

  Election election;
  std::optional<ElectionRequest> request;
  std::vector<ElectionEvent> events;

 protected:
  void take(ElectionStep step) {
    request = std::move(step.request);
    events = std::move(step.events);
  }
};

}  // namespace muster
