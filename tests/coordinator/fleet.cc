#include "tests/coordinator/fleet.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <utility>

#include "base/check.h"
#include "platform/system_clock.h"

namespace muster {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kGenerous{90};

/// Whether it holds the lock of a directory, which nobody takes from one that is frozen.
bool holds_a_lock(pid_t pid) {
  std::ifstream locks("/proc/locks");
  const std::string holder = " " + std::to_string(pid) + " ";
  for (std::string line; std::getline(locks, line);) {
    const bool held = line.find(" FLOCK ") != std::string::npos;
    if (held && line.find("->") == std::string::npos && line.find(holder) != std::string::npos) {
      return true;
    }
  }
  return false;
}

Claim claim_of(const Json& line, const std::string& who) {
  const auto time = [&](const char* name) {
    return MonoTime(Duration(line.at(name).get<Duration::rep>()));
  };
  return {who, line.at("epoch").get<std::uint64_t>(), time("from"), time("to")};
}

}  // namespace

std::size_t WorkerLog::count(const std::string& event, const std::string& kind) const {
  return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [&](const Json& e) {
    return e.at("event") == event && (kind.empty() || e.value("kind", "") == kind);
  }));
}

Worker::Worker(const WorkerSpec& spec)
    : process_(spec.words, spec.environment),
      who_("process " + std::to_string(process_.pid())),
      reader_([this] { read_all(); }) {}

Worker::~Worker() {
  leave();
}

int Worker::leave() {
  if (frozen_) thaw();
  const int code = process_.finish();
  if (reader_.joinable()) reader_.join();
  return code;
}

void Worker::kill() {
  process_.kill();
  frozen_ = false;
  reader_.join();
}

void Worker::freeze() {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    MUSTER_CHECK(::kill(process_.pid(), SIGSTOP) == 0);
    int status = 0;
    MUSTER_CHECK(::waitpid(process_.pid(), &status, WUNTRACED) == process_.pid());
    MUSTER_CHECK(WIFSTOPPED(status));
    if (!holds_a_lock(process_.pid())) break;
    MUSTER_CHECK(::kill(process_.pid(), SIGCONT) == 0);
  }
  frozen_ = true;
}

void Worker::thaw() {
  MUSTER_CHECK(::kill(process_.pid(), SIGCONT) == 0);
  frozen_ = false;
}

void Worker::read_all() {
  while (true) {
    const std::string line = process_.read_line();
    if (line.empty()) return;
    const Json json = Json::parse(line, nullptr, false);
    // A process that was killed may leave half a line; it is its last one.
    if (!json.is_object()) continue;
    const std::lock_guard lock(mutex_);
    take(json);
    changed_.notify_all();
  }
}

void Worker::take(const Json& line) {
  if (line.contains("hello")) {
    log_.hello = line;
  } else if (line.contains("leads")) {
    log_.latest = claim_of(line, who_);
    log_.leads = line.at("leads").get<bool>();
    log_.leader = line.at("leader").get<std::string>();
    if (log_.leads) log_.beliefs.push_back(*log_.latest);
  } else if (line.contains("write")) {
    log_.writes.push_back({claim_of(line, who_), line.at("write").get<std::string>()});
  } else if (line.contains("event")) {
    log_.events.push_back(line);
  } else {
    log_.answers.push_back(line);
  }
}

WorkerLog Worker::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

bool Worker::eventually(const std::function<bool(const WorkerLog&)>& condition) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kGenerous, [&] { return condition(log_); });
}

Json quick_options(const Json& more) {
  Json options = {{"heartbeatInterval", 300}, {"heartbeatJitter", 50},
                  {"leaseTimeout", 1500},     {"workerTimeout", 3000},
                  {"startupJitterMax", 0},    {"circuitBreaker.resetTimeout", 1000}};
  options.update(more);
  return options;
}

Fleet::Fleet(std::string url, Json options) : url_(std::move(url)), options_(std::move(options)) {}

Worker& Fleet::start(const std::string& name, const std::string& id,
                     const std::vector<std::string>& environment) {
  Json options = options_;
  options["workerId"] = id;
  return adopt(name, {{MUSTER_COORDINATOR_WORKER, url_, kNamespace, options.dump()}, environment});
}

Worker& Fleet::adopt(const std::string& name, const WorkerSpec& spec) {
  std::unique_ptr<Worker>& slot = workers_[name];
  MUSTER_CHECK(slot == nullptr);
  slot = std::make_unique<Worker>(spec);
  return *slot;
}

void Fleet::kill(const std::string& name) {
  Worker& worker = at(name);
  worker.kill();
  ended_.push_back(worker.log());
  workers_.erase(name);
}

std::optional<std::string> Fleet::leader() const {
  // After a freeze a last look may be an old one: the latest counts.
  std::optional<std::string> found;
  MonoTime latest = MonoTime::min();
  for (const auto& [name, worker] : workers_) {
    const WorkerLog log = worker->log();
    if (!log.leads || log.latest->from < latest) continue;
    latest = log.latest->from;
    found = name;
  }
  return found;
}

std::string Fleet::wait_for_leader(std::uint64_t epoch) const {
  std::string found;
  const auto leads = [&] {
    for (const auto& [name, worker] : workers_) {
      const WorkerLog log = worker->log();
      if (log.leads && log.latest->epoch > epoch) found = name;
    }
    return !found.empty();
  };
  return eventually(leads) ? found : "";
}

bool Fleet::settles() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) {
    return worker.second->eventually([](const WorkerLog& log) { return !log.leader.empty(); });
  });
}

std::vector<WorkerLog> Fleet::logs() const {
  std::vector<WorkerLog> all = ended_;
  for (const auto& [name, worker] : workers_) all.push_back(worker->log());
  return all;
}

std::uint64_t Fleet::epoch() const {
  std::uint64_t highest = 0;
  for (const Claim& claim : beliefs()) highest = std::max(highest, claim.epoch);
  return highest;
}

std::vector<Claim> Fleet::beliefs() const {
  std::vector<Claim> all;
  for (const WorkerLog& log : logs()) {
    all.insert(all.end(), log.beliefs.begin(), log.beliefs.end());
  }
  return all;
}

std::vector<Claim> Fleet::accepted_writes() const {
  std::vector<Claim> all;
  for (const WorkerLog& log : logs()) {
    for (const WorkerLog::Write& write : log.writes) {
      if (write.outcome == "ok") all.push_back(write.claim);
    }
  }
  return all;
}

std::vector<Claim> Fleet::beliefs_between(MonoTime from, MonoTime until) const {
  std::vector<Claim> all = beliefs();
  std::erase_if(all, [&](const Claim& claim) { return claim.from < from || claim.to > until; });
  return all;
}

void let_pass(Duration time) {
  sleep_for(time);
}

bool eventually(const std::function<bool()>& condition) {
  const MonoTime limit = boot_now() + kGenerous;
  while (!condition()) {
    if (boot_now() > limit) return false;
    let_pass(20ms);
  }
  return true;
}

}  // namespace muster
