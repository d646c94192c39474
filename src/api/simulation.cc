#include <muster/sim.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <stdexcept>
#include <utility>

#include "api/connection.h"
#include "candidate/candidate.h"
#include "sim/faulty_store.h"
#include "sim/world.h"

namespace muster::api {
namespace {

/// The drift that leases allow for is the one between two clocks that are slewed in opposite
/// directions by this.
constexpr double kClockSlew = 0.08;
constexpr Duration kRequestTime = 1s;
constexpr Duration kSimulatedLeaseMin = 100ms;

Precondition condition_of(const pub::WriteCondition& when) {
  if (when.kind == pub::WriteCondition::Kind::kAbsent) return Precondition::absent();
  if (when.kind == pub::WriteCondition::Kind::kAtRevision)
    return Precondition::at(Revision(when.revision));
  return Precondition::none();
}

}  // namespace

class SimulationCore : public std::enable_shared_from_this<SimulationCore> {
 public:
  explicit SimulationCore(const pub::SimulationOptions& options)
      : lease_(options.lease), world_(options.seed) {
    set_badness(options.badness);
  }

  pub::Result<pub::SimulatedProcess> add(const std::string& id, pub::SimulatedWork work);
  [[nodiscard]] pub::SimulatedProcess handle(std::size_t index);
  void start(std::size_t index);
  void crash(std::size_t index);
  void stop(std::size_t index);
  void run(Duration time, const std::function<bool()>& condition);
  /// Runs code of the test; what it throws ends the run.
  void call(const std::function<void()>& code);

  void set_badness(double badness) {
    shared_->faults = sim::StoreFaults::scaled(std::clamp(badness, 0.0, 1.0));
  }
  [[nodiscard]] sim::World& world() { return world_; }
  [[nodiscard]] std::size_t count() const { return nodes_.size(); }
  [[nodiscard]] bool alive(std::size_t index) const { return nodes_[index].now != nullptr; }
  [[nodiscard]] bool leads(std::size_t index) const;
  [[nodiscard]] pub::Token token(std::size_t index) const;
  /// Null if it is dead.
  [[nodiscard]] sim::Process* process(std::size_t index) const;
  [[nodiscard]] sim::FaultyStore* store(std::size_t index) const;

 private:
  /// The work of the test, as a candidate calls it.
  class Work final : public LeaderWork {
   public:
    Work(SimulationCore& core, std::size_t index, Loop& loop)
        : core_(core), index_(index), step_(loop), stop_(loop) {}

    void start(Epoch epoch, std::shared_ptr<const LeaseGuard> guard, std::function<void()> on_ready,
               std::function<void(std::string)>) override {
      guard_ = std::move(guard);
      token_ = epoch.value();
      stopping_ = false;
      told(work().on_start);
      arm();
      on_ready();
    }
    [[nodiscard]] Duration stop_time() const override { return work().stop_time; }
    void stop(MonoTime, std::function<void(bool)> done) override {
      stopping_ = true;
      step_.cancel();
      told(work().on_stop);
      if (work().stop_time <= Duration(0)) return done(true);
      stop_.arm(work().stop_time, [done = std::move(done)] { done(true); });
    }
    void deadline_moved(MonoTime) override {}  // The guard is asked before every step.

    [[nodiscard]] bool valid() const { return guard_ && !stopping_ && guard_->valid(); }
    [[nodiscard]] pub::Token token() const { return token_; }

   private:
    [[nodiscard]] const pub::SimulatedWork& work() const { return core_.nodes_[index_].work; }
    void told(const std::function<void(pub::SimulatedProcess)>& what) {
      if (what) core_.call([&] { what(core_.handle(index_)); });
    }
    void arm() {
      step_.arm(std::max<Duration>(work().interval, 1ms), [this] {
        arm();
        if (valid()) told(work().step);
      });
    }

    SimulationCore& core_;
    const std::size_t index_;
    std::shared_ptr<const LeaseGuard> guard_;
    pub::Token token_ = 0;
    bool stopping_ = false;
    Timer step_;
    Timer stop_;
  };

  /// A process from its start to its end. Ended ones are kept, because their code may be on the
  /// stack and their requests under way.
  struct Run {
    Run(SimulationCore& core, std::size_t index, const CandidateOptions& options)
        : process(core.world_, 1 + kClockSlew * (2 * core.world_.random().unit() - 1),
                  core.world_.random().between(0s, 1h)),
          store(core.world_, process, core.shared_),
          work(core, index, process),
          candidate("simulation", options,
                    {process,
                     store,
                     work,
                     Random(core.world_.random().next()),
                     [](const telemetry::Event&) {},
                     {}}) {}
    sim::Process process;
    sim::FaultyStore store;
    Work work;
    Candidate candidate;
  };
  struct Node {
    CandidateOptions options;
    pub::SimulatedWork work;
    std::vector<std::unique_ptr<Run>> runs{};
    Run* now = nullptr;  ///< Null: dead.
  };

  const Duration lease_;
  sim::World world_;
  std::shared_ptr<sim::SharedStore> shared_ = std::make_shared<sim::SharedStore>();
  std::deque<Node> nodes_;  ///< Its nodes stay where they are when one is added.
  bool running_ = false;
  std::exception_ptr thrown_;
};

pub::Result<pub::SimulatedProcess> SimulationCore::add(const std::string& id,
                                                       pub::SimulatedWork work) {
  CandidateOptions options;
  options.node = WorkerId(id);
  options.pod = id;
  options.lease = lease_;
  if (id.empty()) return {pub::Code::kInvalid, "a simulated process needs an id"};
  if (lease_ < kSimulatedLeaseMin) return {pub::Code::kInvalid, "the lease must be at least 100ms"};
  if (const Status good = options.validate(); !good) return to_public(good.error());
  for (const Node& node : nodes_) {
    if (node.options.node == options.node)
      return {pub::Code::kInvalid, "there is a simulated process " + id + " already"};
  }
  nodes_.push_back({std::move(options), std::move(work)});
  start(nodes_.size() - 1);
  return handle(nodes_.size() - 1);
}

pub::SimulatedProcess SimulationCore::handle(std::size_t index) {
  return {weak_from_this(), index, nodes_[index].options.node.value()};
}

void SimulationCore::start(std::size_t index) {
  crash(index);
  Node& node = nodes_[index];
  node.runs.push_back(std::make_unique<Run>(*this, index, node.options));
  node.now = node.runs.back().get();
  node.now->process.post([run = node.now] { run->candidate.start(); });
}

void SimulationCore::crash(std::size_t index) {
  if (Run* run = std::exchange(nodes_[index].now, nullptr)) run->process.kill();
}

void SimulationCore::stop(std::size_t index) {
  Run* run = nodes_[index].now;
  if (run == nullptr) return;
  run->process.post([this, index, run] {
    run->candidate.stop([this, index, run] {
      if (nodes_[index].now == run) crash(index);
    });
  });
}

bool SimulationCore::leads(std::size_t index) const {
  const Run* run = nodes_[index].now;
  return run != nullptr && run->work.valid();
}

pub::Token SimulationCore::token(std::size_t index) const {
  const Run* run = nodes_[index].now;
  return run == nullptr ? 0 : run->work.token();
}

sim::Process* SimulationCore::process(std::size_t index) const {
  Run* run = nodes_[index].now;
  return run == nullptr ? nullptr : &run->process;
}

sim::FaultyStore* SimulationCore::store(std::size_t index) const {
  Run* run = nodes_[index].now;
  return run == nullptr ? nullptr : &run->store;
}

void SimulationCore::call(const std::function<void()>& code) {
  if (thrown_) return;
  try {
    code();
  } catch (...) {
    thrown_ = std::current_exception();
  }
}

void SimulationCore::run(Duration time, const std::function<bool()>& condition) {
  if (running_)
    throw std::logic_error("muster: a simulation runs already, and calls this function");
  running_ = true;
  bool met = false;
  world_.run(world_.now() + std::max(time, Duration(0)), [&] {
    if (condition) call([&] { met = condition(); });
    return !met && !thrown_;
  });
  running_ = false;
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

SimulatedProcess::SimulatedProcess(std::weak_ptr<api::SimulationCore> core, std::size_t index,
                                   std::string id)
    : core_(std::move(core)), index_(index), id_(std::move(id)) {}

bool SimulatedProcess::alive() const {
  const auto core = core_.lock();
  return core && core->alive(index_);
}

bool SimulatedProcess::leads() const {
  const auto core = core_.lock();
  return core && core->leads(index_);
}

Token SimulatedProcess::token() const {
  const auto core = core_.lock();
  return core ? core->token(index_) : 0;
}

void SimulatedProcess::crash() const {
  if (const auto core = core_.lock()) core->crash(index_);
}

void SimulatedProcess::restart() const {
  if (const auto core = core_.lock()) core->start(index_);
}

void SimulatedProcess::stop() const {
  if (const auto core = core_.lock()) core->stop(index_);
}

void SimulatedProcess::freeze(Duration time) const {
  const auto core = core_.lock();
  if (core && core->alive(index_)) core->process(index_)->pause(core->world().now() + time);
}

void SimulatedProcess::cut_off(bool is_cut_off) const {
  const auto core = core_.lock();
  if (core && core->alive(index_)) core->store(index_)->set_cut_off(is_cut_off);
}

void SimulatedProcess::after(Duration delay, std::function<void()> task) const {
  const auto core = core_.lock();
  if (!core || !core->alive(index_)) return;
  muster::sim::Process& process = *core->process(index_);
  process.at(process.now() + std::max(delay, Duration(0)),
             [&core = *core, task = std::move(task)] { core.call(task); });
}

void SimulatedProcess::get(const std::string& key,
                           std::function<void(const Result<StoredObject>&)> done) const {
  const auto core = core_.lock();
  if (!core || !core->alive(index_)) return;
  const MonoTime by = core->process(index_)->now() + api::kRequestTime;
  core->store(index_)->get(
      key, {}, by, [&core = *core, done = std::move(done)](const muster::Result<Object>& found) {
        core.call([&] {
          if (!found) return done(api::to_public(found.error()));
          done(StoredObject{found->body, found->revision.value()});
        });
      });
}

void SimulatedProcess::put(const std::string& key, const std::string& body,
                           const WriteCondition& when,
                           std::function<void(const Result<std::string>&)> done) const {
  const auto core = core_.lock();
  if (!core || !core->alive(index_)) return;
  const MonoTime by = core->process(index_)->now() + api::kRequestTime;
  core->store(index_)->put(
      key, body, api::condition_of(when), by,
      [&core = *core, done = std::move(done)](const muster::Result<Revision>& made) {
        core.call([&] {
          if (!made) return done(api::to_public(made.error()));
          done(made->value());
        });
      });
}

Simulation::Simulation(SimulationOptions options) {
  api::quiet_log();
  core_ = std::make_shared<api::SimulationCore>(options);
}

Simulation::~Simulation() {
  for (std::size_t i = 0; i < core_->count(); ++i) core_->crash(i);
}

Result<SimulatedProcess> Simulation::add(const std::string& id, SimulatedWork work) {
  return core_->add(id, std::move(work));
}

std::vector<SimulatedProcess> Simulation::processes() const {
  std::vector<SimulatedProcess> all;
  for (std::size_t i = 0; i < core_->count(); ++i) all.push_back(core_->handle(i));
  return all;
}

std::vector<SimulatedProcess> Simulation::leaders() const {
  std::vector<SimulatedProcess> leading;
  for (std::size_t i = 0; i < core_->count(); ++i) {
    if (core_->leads(i)) leading.push_back(core_->handle(i));
  }
  return leading;
}

Duration Simulation::now() const {
  return core_->world().now();
}

void Simulation::at(Duration when, std::function<void()> event) {
  core_->world().at(when, [&core = *core_, event = std::move(event)] { core.call(event); });
}

std::uint64_t Simulation::random(std::uint64_t bound) {
  return bound == 0 ? 0 : core_->world().random().below(bound);
}

void Simulation::set_badness(double badness) {
  core_->set_badness(badness);
}

void Simulation::run_for(Duration time) {
  core_->run(time, {});
}

bool Simulation::run_until(const std::function<bool()>& condition, Duration limit) {
  if (!condition()) core_->run(limit, condition);
  return condition();
}

MUSTER_END_NAMESPACE
