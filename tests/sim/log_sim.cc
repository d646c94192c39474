#include "tests/sim/log_sim.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace muster::sim {

using rlog::Index;

LogSim::LogSim(std::uint64_t seed, LogSimOptions options)
    : options_(options), world_(seed), history_([this](std::string what) {
        if (report_.violation.empty()) report_.violation = std::move(what);
        say(nullptr, "VIOLATION: " + report_.violation);
      }) {
  Random& random = world_.random();
  vandals_ = random.chance(0.1);
  // About half of the worlds are like S3, half like etcd, some in between.
  shared_->guarded_put = random.chance(0.5);
  shared_->watch = random.chance(shared_->guarded_put ? 0.7 : 0.2);
  shared_->conditional_remove = shared_->guarded_put;
  shared_->faults = StoreFaults::scaled(random.unit());
  replicas_.resize(2 + random.below(3));
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    replicas_[i].name = std::string("r") + static_cast<char>('a' + i);
  }
}

LogSim::~LogSim() {
  for (Replica& replica : replicas_) end(replica);
}

void LogSim::start(Replica& replica) {
  Random& random = world_.random();
  replica.stopped = false;
  replica.process = std::make_unique<Process>(world_, 1.0, random.between(0s, 2h));
  replica.store = std::make_unique<FaultyStore>(world_, *replica.process, shared_);
  replica.state = std::make_unique<LoggedState>(history_);
  rlog::Options options;
  options.prefix = "sim/";
  options.create = true;
  options.request_timeout = random.between(200ms, 2s);
  options.give_up_after = random.between(1s, 10s);
  options.retry_wait = random.between(20ms, 200ms);
  options.poll_interval = random.between(100ms, 1s);
  options.compact_after_entries = 3 + random.below(30);
  replica.log = std::make_unique<rlog::ReplicatedLog>(
      options,
      rlog::Surroundings{*replica.process, *replica.store, Random(random.next()), *replica.state,
                         [this, &replica](const rlog::Event& event) { on_event(replica, event); }});
  say(&replica, "starts");
  on_replica(replica, [this, &replica] {
    replica.log->open([this, &replica](const Status& opened) {
      say(&replica, opened ? "is open" : "does not open: " + opened.error().message);
    });
  });
}

void LogSim::end(Replica& replica) {
  if (!replica.process) return;
  replica.process->kill();
  replica.log.reset();
  replica.store.reset();
}

// What runs on a process waits while it is paused.
void LogSim::on_replica(Replica& replica, std::function<void()> work) {
  replica.process->post(std::move(work));
}

void LogSim::on_event(Replica& replica, const rlog::Event& event) {
  if (const auto* deposed = std::get_if<rlog::Deposed>(&event)) {
    say(&replica, "is deposed: " + deposed->reason);
  } else if (const auto* stopped = std::get_if<rlog::Stopped>(&event)) {
    say(&replica, "stops: " + stopped->reason.message);
    replica.stopped = true;
    if (!vandalized_ && report_.violation.empty()) {
      report_.violation = replica.name + " stopped without a cause: " + stopped->reason.message;
    }
  } else if (const auto* compacted = std::get_if<rlog::Compacted>(&event)) {
    say(&replica, "has compacted to " + std::to_string(compacted->index.value()) + ", floor " +
                      std::to_string(compacted->floor.value()));
  } else if (const auto* reloaded = std::get_if<rlog::Reloaded>(&event)) {
    say(&replica, "has loaded the snapshot at " + std::to_string(reloaded->index.value()));
  }
}

void LogSim::schedule_work() {
  world_.after(world_.random().between(0ms, 80ms), [this] {
    Replica& replica = replicas_[world_.random().below(replicas_.size())];
    if (replica.log && !replica.stopped) work(replica);
    schedule_work();
  });
}

void LogSim::work(Replica& replica) {
  const std::uint64_t choice = world_.random().below(100);
  if (choice < 4) return lead(replica);
  if (choice < 20) return read(replica);
  if (choice < 24) return compact(replica);
  append(replica);
}

void LogSim::lead(Replica& replica) {
  on_replica(replica, [this, &replica] {
    if (replica.log->leads()) {
      return replica.log->retire([this, &replica](const Status&) { say(&replica, "has retired"); });
    }
    const Epoch epoch(++epoch_);
    const std::string number = std::to_string(epoch.value());
    say(&replica, "wants to lead with epoch " + number);
    replica.log->lead(
        epoch, Incarnation(world_.random().uuid()), [this, &replica, number](const Status& leads) {
          if (leads) ++report_.terms;
          say(&replica, (leads ? "leads with epoch " : "does not lead with epoch ") + number);
        });
  });
}

void LogSim::append(Replica& replica) {
  on_replica(replica, [this, &replica] {
    if (!replica.log->leads()) return;
    const std::uint64_t count = 1 + world_.random().below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string command = "c" + std::to_string(next_command_++);
      replica.log->append(command, [this, &replica, command](const Result<rlog::Ack>& ack) {
        say(&replica, command + (ack ? " acknowledged at " + std::to_string(ack->index.value())
                                     : " " + ack.error().message));
        if (ack) {
          history_.acknowledged(command, *ack);
          acked_after_heal_ |= healed_;
        } else if (!ack.is(Errc::kAmbiguous)) {
          history_.denied(command);
        }
      });
    }
  });
}

void LogSim::read(Replica& replica) {
  on_replica(replica, [this, &replica] {
    const std::uint64_t before = history_.acknowledged_up_to();
    const bool healed = healed_;
    replica.log->read_barrier([this, &replica, before, healed](const Result<Index>& index) {
      if (!index) return;
      history_.read(before, index->value());
      if (!healed || !report_.violation.empty()) return;
      replica.confirmed_after_heal = true;
      // Whatever was acknowledged since is in it, too, when it was acknowledged before `before`.
      if (before == history_.acknowledged_up_to()) {
        history_.holds_everything(replica.name, replica.state->commands());
      }
    });
  });
}

void LogSim::compact(Replica& replica) {
  on_replica(replica, [&replica] { replica.log->compact([](const Result<Index>&) {}); });
}

void LogSim::schedule_chaos() {
  world_.after(world_.random().between(100ms, 4s), [this] {
    if (healed_) return;
    wreak_chaos();
    schedule_chaos();
  });
}

void LogSim::wreak_chaos() {
  Random& random = world_.random();
  Replica& replica = replicas_[random.below(replicas_.size())];
  if (!replica.log) return;
  switch (random.below(7)) {
    case 0:
    case 1: {
      const Duration length = random.between(100ms, 30s);
      say(&replica, "is paused for " + std::to_string(to_ms(length)) + " ms");
      return replica.process->pause(world_.now() + length);
    }
    case 2:
      say(&replica, "is killed");
      end(replica);
      world_.after(random.between(0s, 10s), [this, &replica] {
        if (!replica.log) start(replica);
      });
      return;
    case 3:
      say(nullptr, "the store is down");
      shared_->faults.down = true;
      world_.after(random.between(100ms, 10s), [this] { shared_->faults.down = false; });
      return;
    case 4: {
      say(&replica, "is cut off");
      replica.store->set_cut_off(true);
      FaultyStore* const store = replica.store.get();
      world_.after(random.between(100ms, 20s), [&replica, store] {
        if (replica.store.get() == store) store->set_cut_off(false);
      });
      return;
    }
    case 5:
      shared_->faults = StoreFaults::scaled(random.unit());
      return;
    default:
      if (vandals_ && world_.now() > options_.chaos / 2) vandalize();
  }
}

// Someone removes the manifest. Everybody must stop, and nobody may begin anew.
void LogSim::vandalize() {
  say(nullptr, "the manifest is removed by a stranger");
  vandalized_ = true;
  (void)shared_->objects->remove("sim/log/manifest", {});
}

void LogSim::heal() {
  say(nullptr, "everything heals");
  healed_ = true;
  shared_->faults = StoreFaults();
  for (Replica& replica : replicas_) {
    if (replica.store) replica.store->set_cut_off(false);
    if (!replica.log) start(replica);
  }
}

void LogSim::finish() {
  if (!report_.violation.empty() || vandalized_) return;
  if (!acked_after_heal_) report_.violation = "nothing was acknowledged long after all healed";
  for (const Replica& replica : replicas_) {
    if (replica.confirmed_after_heal || !report_.violation.empty()) continue;
    report_.violation = replica.name + " answered no read long after everything healed";
  }
}

void LogSim::say(const Replica* replica, const std::string& what) {
  if (!options_.trace) return;
  char head[64];
  std::snprintf(head, sizeof head, "%10.3f  %-5s ", static_cast<double>(to_ms(world_.now())) / 1000,
                replica ? replica->name.c_str() : "world");
  report_.trace.push_back(head + what);
}

SimReport LogSim::run() {
  const auto go_on = [this] {
    ++report_.events;
    return report_.violation.empty();
  };
  for (Replica& replica : replicas_) {
    world_.after(world_.random().between(0s, 5s), [this, &replica] { start(replica); });
  }
  schedule_work();
  schedule_chaos();
  world_.run(options_.chaos, go_on);
  if (report_.violation.empty()) {
    heal();
    world_.run(options_.chaos + options_.calm, go_on);
  }
  finish();
  report_.simulated = world_.now();
  return std::move(report_);
}

}  // namespace muster::sim
