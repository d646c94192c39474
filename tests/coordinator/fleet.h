#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "tests/coordinator/beliefs.h"
#include "tests/support/child_process.h"

namespace muster {

/// All that one worker process has printed.
struct WorkerLog {
  struct Write {
    Claim claim;
    std::string outcome;  ///< "ok" or an Errc's name.
  };
  nlohmann::json hello;
  std::vector<Claim> beliefs;   ///< Only those in which it led.
  std::optional<Claim> latest;  ///< The last look, leading or not.
  bool leads = false;           ///< At that look.
  std::string leader;           ///< As it saw it then; empty for nobody.
  std::vector<Write> writes;
  std::vector<nlohmann::json> events;
  std::vector<nlohmann::json> answers;  ///< To commands.

  /// How many events have this name, and this kind where one is given.
  [[nodiscard]] std::size_t count(const std::string& event, const std::string& kind = {}) const;
};

/// How to start a worker.
struct WorkerSpec {
  std::vector<std::string> words;
  std::vector<std::string> environment;
};

/// A worker process (worker.cc, or another that prints the same) and what it says. It never
/// outlives this. One thread.
class Worker {
 public:
  explicit Worker(const WorkerSpec& spec);
  /// Wakes it when it is frozen, and lets it stop cleanly.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void kill();    ///< SIGKILL; reaped, and all it printed is in the log, on return.
  void freeze();  ///< SIGSTOP, in force on return, and not while it holds a directory's lock.
  void thaw();    ///< SIGCONT.
  void tell(const std::string& command) { process_.write_line(command); }
  /// The end of its input, waited for; its exit code.
  int leave();

  /// Names this process among all of a test.
  [[nodiscard]] const std::string& who() const { return who_; }
  [[nodiscard]] WorkerLog log() const;
  /// Waits until `condition` holds for the log; false after a time that is generous for a machine
  /// under load.
  bool eventually(const std::function<bool(const WorkerLog&)>& condition) const;

 private:
  void read_all();
  void take(const nlohmann::json& line);

  ChildProcess process_;
  const std::string who_;
  bool frozen_ = false;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  WorkerLog log_;
  std::thread reader_;
};

/// Options with short times, and `more` on top: a heartbeat of 300 ms, a lease of 1.5 s.
[[nodiscard]] nlohmann::json quick_options(const nlohmann::json& more = nlohmann::json::object());

/// Workers of one namespace on one store, by name, and everything that any of them has claimed.
class Fleet {
 public:
  /// `options` are those of docs/coordinator.md, for every worker.
  Fleet(std::string url, nlohmann::json options);

  /// Starts a worker with this id under `name`, which must be free; `environment` on top of ours.
  Worker& start(const std::string& name, const std::string& id,
                const std::vector<std::string>& environment = {});
  Worker& start(const std::string& id) { return start(id, id); }
  /// One that is not ours, but prints the same.
  Worker& adopt(const std::string& name, const WorkerSpec& spec);
  /// SIGKILL, and `name` is free again.
  void kill(const std::string& name);
  Worker& at(const std::string& name) { return *workers_.at(name); }
  [[nodiscard]] const std::map<std::string, std::unique_ptr<Worker>>& workers() const {
    return workers_;
  }

  /// The name of the worker that led at its last look, if any did.
  [[nodiscard]] std::optional<std::string> leader() const;
  /// Waits for a leader with an epoch above `epoch`; empty after a generous time.
  [[nodiscard]] std::string wait_for_leader(std::uint64_t epoch = 0) const;
  /// Waits until every worker knows a leader; false after a generous time.
  [[nodiscard]] bool settles() const;
  /// The highest epoch that any worker has led with.
  [[nodiscard]] std::uint64_t epoch() const;

  /// Of all workers, killed ones included: when they believed to lead, and what was written to
  /// the fenced object.
  [[nodiscard]] std::vector<Claim> beliefs() const;
  [[nodiscard]] std::vector<Claim> accepted_writes() const;
  /// Whether any worker believed to lead at an instant surely after `from` and before `until`.
  [[nodiscard]] std::vector<Claim> beliefs_between(MonoTime from, MonoTime until) const;

  [[nodiscard]] const std::string& url() const { return url_; }
  static constexpr const char* kNamespace = "fleet";

 private:
  [[nodiscard]] std::vector<WorkerLog> logs() const;

  const std::string url_;
  const nlohmann::json options_;
  std::map<std::string, std::unique_ptr<Worker>> workers_;
  std::vector<WorkerLog> ended_;
};

/// Lets real time pass, where its passing is what is tested.
void let_pass(Duration time);

/// Waits for what other processes bring about; false after a time that is generous for a machine
/// under load.
bool eventually(const std::function<bool()>& condition);

}  // namespace muster
