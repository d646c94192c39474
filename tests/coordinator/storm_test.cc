// Workers are killed, frozen and started again at random, on every kind of store. At no instant do
// two of them lead, no epoch is used twice, and none ever falls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "coordinator/fenced_store.h"
#include "coordinator/hub.h"
#include "core/election/records.h"
#include "platform/system_clock.h"
#include "tests/coordinator/fleet.h"
#include "tests/coordinator/stores.h"

namespace muster {
namespace storm_test {

using ::testing::IsEmpty;

/// Reads an epoch over and over; every one is expected to be at least the one before.
class EpochWatcher {
 public:
  EpochWatcher(std::string what, std::function<std::optional<Epoch>()> read)
      : thread_([this, what = std::move(what), read = std::move(read)] {
          Epoch highest;
          while (!ending_) {
            if (const std::optional<Epoch> epoch = read()) {
              EXPECT_GE(*epoch, highest) << what << " fell";
              highest = std::max(highest, *epoch);
              ++reads_;
            }
            let_pass(20ms);
          }
        }) {}
  ~EpochWatcher() { end(); }
  EpochWatcher(const EpochWatcher&) = delete;
  EpochWatcher& operator=(const EpochWatcher&) = delete;

  /// How often it could be read.
  int end() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
    return reads_;
  }

 private:
  std::atomic<bool> ending_{false};
  int reads_ = 0;
  std::thread thread_;
};

class StormTest : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Stores, StormTest, ::testing::ValuesIn(store_kinds()),
                         [](const auto& store) { return store.param; });

/// What the storm does to one worker, and when the frozen ones wake up.
class Storm {
 public:
  Storm(Fleet& fleet, std::uint64_t seed) : fleet_(fleet), random_(seed) {
    for (const char* id : {"a", "b", "c", "d"}) fleet_.start(id);
  }
  void blow(Duration how_long) {
    const MonoTime end = boot_now() + how_long;
    while (boot_now() < end) {
      let_pass(random_.between(50ms, 500ms));
      wake(boot_now());
      // The leader is hit as often as all others together.
      const auto leader = fleet_.leader();
      const std::string any(1, static_cast<char>('a' + random_.below(4)));
      hit(leader && random_.chance(0.5) ? *leader : any);
    }
    wake(MonoTime::max());
  }
  [[nodiscard]] int kills() const { return kills_; }
  [[nodiscard]] int freezes() const { return freezes_; }

 private:
  void hit(const std::string& name) {
    if (random_.chance(0.4)) {
      wakes_at_.erase(name);
      fleet_.kill(name);
      fleet_.start(name);
      ++kills_;
    } else if (!wakes_at_.contains(name)) {
      fleet_.at(name).freeze();
      wakes_at_[name] = boot_now() + random_.between(100ms, 3s);
      ++freezes_;
    }
  }
  void wake(MonoTime now) {
    std::erase_if(wakes_at_, [&](const auto& sleeper) {
      if (sleeper.second > now) return false;
      fleet_.at(sleeper.first).thaw();
      return true;
    });
  }

  Fleet& fleet_;
  Random random_;
  std::map<std::string, MonoTime> wakes_at_;
  int kills_ = 0;
  int freezes_ = 0;
};

// S01, S02, S03, S04, S11: nothing that is killed or frozen, whenever, makes two leaders.
TEST_P(StormTest, KillsAndFreezesNeverMakeTwoLeadersOrALowerEpoch) {
  // Takes about 22 s: the storm blows for 20 s, so that leases of 1 s end at least four times among
  // kills and freezes of up to 3 s.
  const std::uint64_t seed = system_random().next();
  Fleet fleet(fresh_store(GetParam()), quick_options({{"leaseTimeout", 1000}}));
  const auto hub = Hub::open(fleet.url()).value();
  FencedStore fenced(hub->store(), system_random());
  const NamespaceKeys keys(Fleet::kNamespace);
  EpochWatcher state("the state's epoch", [&]() -> std::optional<Epoch> {
    const auto object = hub->store().get(keys.state);
    if (!object) return std::nullopt;
    const auto decoded = decode_leader_state(object->body);
    EXPECT_TRUE(decoded) << decoded.error().message;
    return decoded->epoch;
  });
  EpochWatcher resource("the fenced object's epoch", [&]() -> std::optional<Epoch> {
    const auto object = fenced.get("fenced/object");
    return object ? std::optional(object->epoch) : std::nullopt;
  });

  Storm storm(fleet, seed);
  storm.blow(20s);
  const std::uint64_t epoch = fleet.epoch();
  if (const auto leader = fleet.leader()) fleet.kill(*leader);
  EXPECT_NE(fleet.wait_for_leader(epoch), "") << "after the storm there is a leader";

  EXPECT_GT(state.end(), 50);
  EXPECT_GT(resource.end(), 50);
  const auto beliefs = fleet.beliefs();
  const auto writes = fleet.accepted_writes();
  EXPECT_THAT(contradictions(beliefs), IsEmpty());
  EXPECT_THAT(contradictions(writes), IsEmpty());
  EXPECT_GE(count_terms(beliefs), 4u) << "a storm that changes nothing proves nothing";
  EXPECT_GE(count_terms(writes), 3u);
  std::printf("%s: %d kills, %d freezes, %zu terms, %zu looks of leaders, %zu fenced writes\n",
              GetParam().c_str(), storm.kills(), storm.freezes(), count_terms(beliefs),
              beliefs.size(), writes.size());
  if (HasFailure()) std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
}

}  // namespace storm_test
}  // namespace muster
