#include "tests/sim/candidate_sim.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace muster::sim {
namespace {

// Two hosts slewed by this in opposite directions are what the default drift allows for.
constexpr double kSlew = 0.083;

}  // namespace

CandidateSim::CandidateSim(std::uint64_t seed, CandidateSimOptions options)
    : options_(options), world_(seed) {
  Random& random = world_.random();
  const bool calm = options_.only_start_and_stop;
  vandals_ = !calm && random.chance(0.15);
  shared_->conditional_remove = random.chance(0.5);
  if (!calm) shared_->faults = StoreFaults::scaled(random.unit());
  habits_.start_max = random.between(0s, 3s);
  habits_.stop_max = random.between(0s, 5s);
  habits_.stop_time = habits_.stop_max;
  habits_.ignores_stop = 0.2;
  habits_.reports_late = 0.05;
  if (!calm) {
    habits_.start_fails = random.chance(0.3) ? 0.3 : 0;
    habits_.fails_later = random.chance(0.3) ? 0.3 : 0;
  }
  const Duration lease = random.between(2s, 20s);
  const std::uint64_t count = 2 + random.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    Node node;
    node.name = std::string("n") + static_cast<char>('a' + i);
    node.options.node = WorkerId(node.name);
    node.options.lease = random.chance(0.7) ? lease : random.between(2s, 20s);
    node.options.takeover_delay = random.between(0s, 2s);
    node.options.eligible = i < 2 || random.chance(0.8);
    nodes_.push_back(std::move(node));
  }
  // Drawn apart, so that all else is as it was without it.
  Random fate(seed ^ 0x9a7e3a75);
  for (std::uint64_t i = fate.below(4); i > 0; --i) {
    shared_->gateway_clocks.push_back(fate.between(-20min, 20min));
  }
  shared_->objects->subscribe([this](const MemoryObjects::Change& change) { check_file(change); });
}

void CandidateSim::start(Node& node) {
  node.started_at = world_.now();
  Random& random = world_.random();
  node.clock_rate = random.chance(0.5) ? (random.chance(0.5) ? 1 + kSlew : 1 - kSlew)
                                       : 1 - kSlew + 2 * kSlew * random.unit();
  node.process = std::make_unique<Process>(world_, node.clock_rate, random.between(0s, 2h));
  node.store = std::make_unique<FaultyStore>(world_, *node.process, shared_);
  node.work =
      std::make_unique<SimulatedWork>(world_, *node.process, node.clock_rate, node.name,
                                      node.options.timings().kill_margin, habits_, journal_);
  ++node.run;
  node.began = node.ended = 0;
  node.stopping = false;
  node.candidate = std::make_unique<Candidate>(
      "sim", node.options,
      Candidate::Surroundings{*node.process,
                              *node.store,
                              *node.work,
                              Random(random.next()),
                              [this, &node](const telemetry::Event& e) { on_event(node, e); },
                              {}});
  say(&node, "starts");
  node.process->post([&node] { node.candidate->start(); });
}

void CandidateSim::end(Node& node) {
  node.process->kill();
  node.candidate.reset();
  node.store.reset();
  node.work->parent_died();
  orphans_.emplace_back(std::move(node.process), std::move(node.work));
}

void CandidateSim::restart_later(Node& node, Duration delay) {
  end(node);
  world_.after(delay, [this, &node] {
    if (!node.candidate) start(node);
  });
}

void CandidateSim::on_event(Node& node, const telemetry::Event& event) {
  if (!std::holds_alternative<telemetry::ElectionCheck>(event.what)) {
    say(&node, telemetry::to_json(event));
  }
  if (std::holds_alternative<telemetry::BecameLeader>(event.what)) {
    ++node.began;
    ++report_.terms;
  } else if (std::holds_alternative<telemetry::LostLeadership>(event.what)) {
    ++node.ended;
  }
  if (node.ended > node.began || node.began > node.ended + 1) {
    violate(node.name + " reported " + std::to_string(node.began) + " terms and " +
            std::to_string(node.ended) + " ends");
  }
}

void CandidateSim::schedule_chaos() {
  world_.after(world_.random().between(100ms, 12s), [this] {
    if (healed_) return;
    wreak_chaos();
    schedule_chaos();
  });
}

void CandidateSim::wreak_chaos() {
  Random& random = world_.random();
  Node& node = nodes_[random.below(nodes_.size())];
  if (!node.candidate || node.stopping) return;
  if (options_.only_start_and_stop) return shut_down(node);
  switch (random.below(9)) {
    case 0:
      say(&node, "is killed");
      return restart_later(node, random.between(0s, 30s));
    case 1:
      return shut_down(node);
    case 2:
    case 3:
      return command(node);
    case 4:
      say(nullptr, "the store is down");
      shared_->faults.down = true;
      world_.after(random.between(100ms, 60s), [this] { shared_->faults.down = false; });
      return;
    case 5:
      shared_->faults = StoreFaults::scaled(random.unit());
      return;
    case 6:
      if (vandals_) vandalize();
      return;
    default:
      return wreak_on_host(node);
  }
}

void CandidateSim::wreak_on_host(Node& node) {
  Random& random = world_.random();
  const Duration length = random.between(100ms, 60s);
  if (random.chance(0.5)) {
    say(&node, "is paused for " + std::to_string(to_ms(length)) + " ms");
    return node.process->pause(world_.now() + length);
  }
  say(&node, "is cut off");
  node.store->set_cut_off(true);
  world_.after(length, [&node, run = node.run] {
    if (node.store && node.run == run) node.store->set_cut_off(false);
  });
}

// Through the store, as an operator does, or directly, as a program does.
void CandidateSim::command(Node& node) {
  Random& random = world_.random();
  const std::uint64_t which = random.below(4);
  if (random.chance(0.5)) {
    const ControlKind kinds[] = {ControlKind::kStepDown, ControlKind::kTransfer,
                                 ControlKind::kPause, ControlKind::kResume};
    ControlCommand command{random.uuid(), kinds[which], node.candidate->epoch(), {}, {}};
    if (which == 1) command.worker = WorkerId(nodes_[random.below(nodes_.size())].name);
    say(&node, std::string("writes a command: ") + to_string(command.kind));
    node.process->post([&node, command, this] {
      write_control(*node.store, keys_.control, command, node.process->now() + 5s,
                    [](const Status&) {});
    });
    return;
  }
  const char* const names[] = {"step down", "be ineligible or not", "pause", "resume"};
  say(&node, std::string("is told to ") + names[which]);
  node.process->post([&node, which, eligible = random.chance(0.5)] {
    if (which == 0) node.candidate->step_down({});
    if (which == 1) node.candidate->set_eligible(eligible);
    if (which == 2) node.candidate->pause();
    if (which == 3) node.candidate->resume();
  });
}

void CandidateSim::shut_down(Node& node) {
  say(&node, "stops cleanly");
  node.stopping = true;
  const Duration delay = world_.random().between(0s, 30s);
  node.process->post([this, &node, delay] {
    node.candidate->stop([this, &node, delay, run = node.run] {
      // The candidate is still on the stack: end it in an event of its own.
      world_.after(0s, [this, &node, delay, run] {
        if (node.candidate && node.run == run) restart_later(node, delay);
      });
    });
  });
}

// Someone removes or overwrites state.json behind everybody's back. Without a metadata.json beside
// it an operator would have to help, who does not come here.
void CandidateSim::vandalize() {
  if (!shared_->objects->entries().contains(keys_.metadata)) return;
  say(nullptr, "state.json is damaged by a stranger");
  if (world_.random().chance(0.5)) {
    (void)shared_->objects->remove(keys_.state, {});
  } else {
    (void)shared_->objects->put(keys_.state, "{\"epoch\": gar" + world_.random().uuid(), {}, {},
                                MonoTime());
  }
}

void CandidateSim::heal() {
  say(nullptr, "everything heals");
  healed_ = true;
  shared_->faults = StoreFaults();
  for (Node& node : nodes_) {
    if (node.candidate && node.stopping) end(node);
    if (!node.candidate) start(node);
    node.store->set_cut_off(false);
    node.work->habits.start_fails = node.work->habits.fails_later = 0;
    node.process->post([&node] {
      node.candidate->resume();
      node.candidate->set_eligible(true);
    });
  }
}

bool CandidateSim::check() {
  ++report_.events;
  if (!journal_.violation.empty()) violate(journal_.violation);
  const Node* leader = nullptr;
  for (const Node& node : nodes_) {
    if (!node.candidate || !node.candidate->leads()) continue;
    if (leader) violate(leader->name + " and " + node.name + " lead at the same time");
    leader = &node;
  }
  return report_.violation.empty();
}

// The leader sweeps the file of a node that has been silent for ten worker timeouts, by its own
// clock, and no other: it marks the file, or removes it at once where the store lets it.
void CandidateSim::check_file(const MemoryObjects::Change& change) {
  const auto id = keys_.worker_of(change.key);
  if (!id) return;
  const auto node = std::find_if(nodes_.begin(), nodes_.end(),
                                 [&](const Node& n) { return n.name == id->value(); });
  if (node == nodes_.end()) return;
  if (!change.removed) {
    const auto record = decode_worker(shared_->objects->entries().at(change.key).body);
    const bool by_leader = record && record->sweep && record->incarnation.value().empty();
    if (!by_leader) {
      files_written_[change.key] = world_.now();
      return;
    }
  }
  // Where the store cannot remove at a revision the mark is what counts: a removal that comes late
  // may hit a file that was made since, whose worker then writes it again.
  if (change.removed && !shared_->conditional_remove) return;
  const bool leaves = !node->candidate || node->stopping;
  const auto written = files_written_.find(change.key);
  if (leaves || written == files_written_.end()) return;
  // What an earlier life has left behind may go at any time, by its own late word, too.
  if (written->second < node->started_at) return;
  Duration shortest = 1h;
  for (const Node& n : nodes_) shortest = std::min(shortest, n.options.filled().worker_timeout);
  const Duration silence = world_.now() - written->second;
  if (silence < 5 * shortest) {
    violate("the file of " + node->name + " was swept " + std::to_string(to_ms(silence)) +
            " ms after it was written");
  }
}

void CandidateSim::violate(std::string what) {
  if (!report_.violation.empty()) return;
  report_.violation = std::move(what);
  say(nullptr, "VIOLATION: " + report_.violation);
}

void CandidateSim::say(const Node* node, const std::string& what) {
  if (!options_.trace) return;
  char head[64];
  std::snprintf(head, sizeof head, "%10.3f  %-5s ", static_cast<double>(to_ms(world_.now())) / 1000,
                node ? node->name.c_str() : "world");
  report_.trace.push_back(head + what);
}

SimReport CandidateSim::run() {
  for (Node& node : nodes_) {
    world_.after(world_.random().between(0s, 10s), [this, &node] { start(node); });
  }
  schedule_chaos();
  world_.run(options_.chaos, [this] { return check(); });
  if (report_.violation.empty()) {
    heal();
    world_.run(options_.chaos + options_.calm, [this] { return check(); });
  }
  if (report_.violation.empty() && journal_.running().size() != 1) {
    violate("work runs on " + std::to_string(journal_.running().size()) +
            " nodes long after everything healed");
  }
  for (Node& node : nodes_) {
    if (node.process) node.process->kill();
  }
  report_.simulated = world_.now();
  return std::move(report_);
}

}  // namespace muster::sim
