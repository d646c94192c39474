#include "bench/election_fleet.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "platform/system_clock.h"

namespace muster::bench {
namespace {

std::string worker_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "election_worker";
}

double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

ElectionFleet::Command muster_worker(const std::string& url, const std::string& options) {
  return [=](const std::string& name_space, const std::string& worker) {
    return std::vector<std::string>{worker_program(), url, name_space, worker, options};
  };
}

ElectionFleet::ElectionFleet(const Options& options) {
  for (std::size_t n = 0; n < options.namespaces; ++n) {
    namespaces_.push_back(std::make_unique<Namespace>());
    Namespace& where = *namespaces_.back();
    where.workers.resize(options.workers_each);
    for (std::size_t i = 0; i < options.workers_each; ++i) {
      Worker& worker = where.workers[i];
      worker.process = std::make_unique<ChildProcess>(
          options.command("trial-" + std::to_string(n), "worker-" + std::to_string(i)));
      worker.reader =
          std::thread([this, &where, i, &process = *worker.process] { read(where, i, process); });
    }
  }
}

ElectionFleet::~ElectionFleet() {
  for (const auto& where : namespaces_) {
    for (Worker& worker : where->workers) {
      worker.process->finish();
      worker.reader.join();
    }
  }
}

// The only one that reads this process's output; the others only signal it and wait for it.
void ElectionFleet::read(Namespace& where, std::size_t worker, ChildProcess& process) {
  for (std::string line = process.read_line(); !line.empty(); line = process.read_line()) {
    const nlohmann::json event = nlohmann::json::parse(line);
    if (event.at("event") != "term:began") continue;
    // Who cannot read the boot clock is believed to have been told when it says so.
    const MonoTime began = event.contains("at") ? MonoTime(Duration(event.at("at"))) : boot_now();
    const Term term{worker, event.at("epoch"), began};
    const std::lock_guard lock(mutex_);
    if (!where.term || where.term->epoch < term.epoch) where.term = term;
    changed_.notify_all();
  }
}

void ElectionFleet::await_leaders(Duration patience) {
  std::unique_lock lock(mutex_);
  const bool all = changed_.wait_for(lock, patience, [this] {
    return std::all_of(namespaces_.begin(), namespaces_.end(),
                       [](const auto& where) { return where->term.has_value(); });
  });
  if (all) return;
  std::fprintf(stderr, "a namespace of the fleet has elected no leader\n");
  std::exit(1);
}

std::vector<double> ElectionFleet::replace_leaders(int signal, Duration spread, Duration patience) {
  std::vector<Term> before;
  std::vector<MonoTime> sent;
  const Duration pause = spread / static_cast<int>(namespaces_.size());
  std::unique_lock lock(mutex_, std::defer_lock);
  for (const auto& where : namespaces_) {
    if (lock.owns_lock()) lock.unlock();
    sleep_for(pause);
    lock.lock();
    before.push_back(*where->term);
    sent.push_back(boot_now());
    ::kill(where->workers[before.back().worker].process->pid(), signal);
  }
  const auto replaced = [&](std::size_t n) {
    return namespaces_[n]->term->epoch > before[n].epoch;
  };
  changed_.wait_for(lock, patience, [&] {
    for (std::size_t n = 0; n < namespaces_.size(); ++n) {
      if (!replaced(n)) return false;
    }
    return true;
  });
  std::vector<double> waits;
  for (std::size_t n = 0; n < namespaces_.size(); ++n) {
    if (replaced(n)) waits.push_back(seconds(namespaces_[n]->term->began - sent[n]));
  }
  return waits;
}

}  // namespace muster::bench
