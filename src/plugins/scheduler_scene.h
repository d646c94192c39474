#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plugins/scheduler.h"
#include "plugins/test_stage.h"

namespace muster {

using stage::Call;
using stage::Fault;
using stage::Stage;

inline constexpr const char* kKey = "plugin=scheduler/namespace=test/job=tick.json";
// A Friday; 10:00:30, so that the first minute is half over.
inline constexpr WallTime kStart = wall_from_ms(1'710'496'830'000);
constexpr WallTime minute(int n) {
  return std::chrono::floor<std::chrono::minutes>(kStart) + std::chrono::minutes(n);
}

/// One process with one job, by default of every minute, that notes the due times it ran.
struct Worker {
  Worker(Stage& stage, std::uint64_t seed, std::vector<WallTime>& runs, ScheduledJob spec = {})
      : process(stage.process()),
        scheduler(std::make_unique<Scheduler>(process.sync, "test", Random(seed))) {
    scheduler->attach(stage.clock, {});
    spec.name = "tick";
    if (spec.cron.empty()) spec.cron = "* * * * *";
    if (!spec.run) spec.run = [&runs](const ScheduledRun& run) { runs.push_back(run.due); };
    EXPECT_TRUE(scheduler->add(spec));
  }
  void lead(const LeaseGuard& guard) {
    scheduler->learn_epoch(guard.epoch());
    scheduler->on_become_coordinator(guard);
    scheduler->coordinator_work(guard);
  }
  void work(const LeaseGuard& guard) { scheduler->coordinator_work(guard); }
  /// The nth put from now on, counted from 1, meets `fault`.
  void fail_put(int nth, Fault fault) {
    process.store.hook = [left = nth, fault](const Call& call) mutable {
      return call.kind == Call::Kind::kPut && --left == 0 ? fault : Fault::kNone;
    };
  }

  Stage::Process& process;
  std::unique_ptr<Scheduler> scheduler;
};

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest() { stage_.clock.set_wall(kStart); }
  [[nodiscard]] std::string outcome() {
    return nlohmann::json::parse(stage_.body(kKey)).value("outcome", "");
  }

  Stage stage_;
  std::vector<WallTime> runs_;
};

}  // namespace muster
