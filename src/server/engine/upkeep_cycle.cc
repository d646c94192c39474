#include "server/engine/upkeep_cycle.h"

#include <utility>

#include "base/log.h"

namespace muster::engine {
namespace {

constexpr Duration kUpkeepTimeout = 2s;
/// Rewriting a file of gigabytes takes its time.
constexpr Duration kLongTimeout = 120s;
/// Between two defragmentations, each of which stops the member for a while.
constexpr Duration kRest = 30s;

}  // namespace

UpkeepCycle::UpkeepCycle(Loop& loop, const EngineOptions& options, EtcdAdmin& admin, Looked looked)
    : loop_(loop), options_(options), admin_(admin), looked_(std::move(looked)), timer_(loop) {}

void UpkeepCycle::start() {
  stop();
  look();
}

void UpkeepCycle::stop() {
  timer_.cancel();
  lifetime_.renew();
}

void UpkeepCycle::look() {
  const MonoTime by = loop_.now() + kUpkeepTimeout;
  auto members = [this, by](UpkeepSight sight) {
    admin_.members(by, lifetime_.wrap([this, by, sight](Result<Members> listed) mutable {
      if (!listed) return fail(listed.error());
      sight.members = std::move(*listed);
      admin_.alarms(by, lifetime_.wrap([this, sight](const Result<Alarms>& alarms) mutable {
        if (!alarms) return fail(alarms.error());
        sight.full = alarms->full;
        sight.corrupt = alarms->corrupt;
        tried_ = tried_ && !sight.full.empty();
        sight.tried = tried_;
        act(sight);
      }));
    }));
  };
  admin_.vitals(by, lifetime_.wrap([this, members](Result<Vitals> vitals) {
    if (!vitals) return fail(vitals.error());
    members(UpkeepSight{.vitals = std::move(*vitals),
                        .members = {},
                        .full = {},
                        .quota_bytes = options_.quota_bytes,
                        .compacted = compacted_,
                        .rested = !defragmented_ || loop_.now() >= *defragmented_ + kRest});
  }));
}

void UpkeepCycle::act(const UpkeepSight& sight) {
  const UpkeepPlan plan = plan_upkeep(sight);
  const MonoTime by = loop_.now() + kUpkeepTimeout;
  timer_.arm(options_.upkeep_interval, [this] { look(); });
  for (const std::uint64_t id : plan.promote) {
    admin_.promote(id, by, lifetime_.wrap([this, id](const Result<Done>& promoted) {
      if (promoted) {
        log_info("engine member has caught up and votes",
                 {{"member", options_.name}, {"promoted", std::to_string(id)}});
      }
    }));
  }
  if (plan.compact) {
    compacted_ = *plan.compact;
    admin_.compact(*plan.compact, loop_.now() + kLongTimeout, note("compaction"));
  }
  if (plan.defragment) {
    // The next look waits for it: the file shows its new size only then.
    timer_.cancel();
    log_info("engine defragments its file", {{"member", options_.name}});
    admin_.defragment(loop_.now() + kLongTimeout, lifetime_.wrap([this](const Result<Done>& done) {
      note("defragmentation")(done);
      defragmented_ = loop_.now();
      tried_ = true;
      timer_.arm(options_.upkeep_interval, [this] { look(); });
    }));
  }
  for (const std::uint64_t id : plan.disarm) {
    log_info("engine has room again", {{"member", options_.name}});
    admin_.disarm(id, by, note("ending the alarm"));
  }
  looked_(Finding{sight, plan});
}

void UpkeepCycle::fail(const Error& error) {
  timer_.arm(options_.upkeep_interval, [this] { look(); });
  looked_(error);
}

Callback<Done> UpkeepCycle::note(const char* what) {
  return lifetime_.wrap([this, what](const Result<Done>& done) {
    if (done) return;
    log_warn("engine upkeep failed; trying again",
             {{"member", options_.name}, {"what", what}, {"why", done.error().message}});
  });
}

}  // namespace muster::engine
