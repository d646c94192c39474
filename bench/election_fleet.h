#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "tests/support/child_process.h"

namespace muster::bench {

/// Many namespaces with a few worker processes each, for trials at once that would take hours one
/// after another. The processes end with it. One thread.
class ElectionFleet {
 public:
  /// The words that start one worker, whose output is that of election_worker.
  using Command = std::function<std::vector<std::string>(const std::string& name_space,
                                                         const std::string& worker)>;
  struct Options {
    Command command;
    std::size_t namespaces = 20;
    std::size_t workers_each = 3;
  };
  explicit ElectionFleet(const Options& options);
  ~ElectionFleet();
  ElectionFleet(const ElectionFleet&) = delete;
  ElectionFleet& operator=(const ElectionFleet&) = delete;

  /// Waits until every namespace has had a leader; ends the process with a sentence when one has
  /// none in time.
  void await_leaders(Duration patience);

  /// Sends the signal to the leader of every namespace, one after the other over the time of
  /// `spread`, so that none is hit at a moment that suits its lease, and waits for the next term of
  /// each, the last for `patience`.
  /// Answers with the seconds from each signal to the moment at which the successor's own
  /// listener was told; fewer than there are namespaces when some had none in time.
  [[nodiscard]] std::vector<double> replace_leaders(int signal, Duration spread, Duration patience);

 private:
  struct Term {
    std::size_t worker;
    std::uint64_t epoch;
    MonoTime began;
  };
  struct Worker {
    std::unique_ptr<ChildProcess> process;
    std::thread reader;
  };
  struct Namespace {
    std::vector<Worker> workers;
    std::optional<Term> term;  ///< The latest; under the mutex.
  };

  void read(Namespace& where, std::size_t worker, ChildProcess& process);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Namespace>> namespaces_;
};

/// Muster's own worker; the options are JSON, as CoordinatorOptions::from_json takes them.
[[nodiscard]] ElectionFleet::Command muster_worker(const std::string& url,
                                                   const std::string& options);

}  // namespace muster::bench
