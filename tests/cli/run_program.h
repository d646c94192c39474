#pragma once

#include <signal.h>

#include <algorithm>
#include <string>

#include "platform/system_clock.h"
#include "tests/cli/muster_program.h"

namespace muster {

/// A running `muster run --json` with short timings, whose events can be waited for. What its
/// command prints goes nowhere. It does not outlive this.
class Runner {
 public:
  Runner(const std::string& arbiter, const std::string& id, const Words& options,
         const Words& command, const Words& environment = {})
      : child_(prepared(words(arbiter, id, options, command), "/dev/null", " 2>&1 >/dev/null"),
               environment) {}
  ~Runner() { child_.kill(); }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// The next event of that name; null when there is none any more. What the command itself
  /// writes to standard error is passed over.
  nlohmann::json next(const std::string& event) {
    for (std::string line = child_.read_line(); !line.empty(); line = child_.read_line()) {
      const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (json.is_object() && json.value("event", "") == event) return json;
    }
    return {};
  }
  /// Waits until the command writes this line to standard error; false when it never does.
  bool says(const std::string& wanted) {
    std::string line = child_.read_line();
    while (!line.empty() && line != wanted) line = child_.read_line();
    return line == wanted;
  }
  void signal(int number) const { ::kill(child_.pid(), number); }
  void kill() { child_.kill(); }
  int terminate() {
    signal(SIGTERM);
    return child_.finish();
  }
  /// Waits for its end by itself.
  int finish() { return child_.finish(); }
  /// All it has said since, once it has ended.
  std::string rest() {
    std::string all;
    for (std::string line = child_.read_line(); !line.empty(); line = child_.read_line()) {
      all += line + '\n';
    }
    return all;
  }

 private:
  static Words words(const std::string& arbiter, const std::string& id, const Words& options,
                     const Words& command) {
    Words all{"run", "--arbiter", arbiter, "--name", "job", "--id", id, "--json"};
    if (std::find(options.begin(), options.end(), "--lease-timeout") == options.end()) {
      all.insert(all.end(), {"--lease-timeout", "2s"});
    }
    all.insert(all.end(), {"--takeover-delay", "100ms"});
    all.insert(all.end(), options.begin(), options.end());
    if (command.empty()) return all;
    all.emplace_back("--");
    all.insert(all.end(), command.begin(), command.end());
    return all;
  }

  ChildProcess child_;
};

/// Runs `muster run` to its end, with events for people.
inline Outcome run_job(const std::string& arbiter, const Words& options, const Words& command,
                       const Words& environment = {}) {
  Words all{"run", "--arbiter", arbiter, "--name", "job", "--id", "n1"};
  all.insert(all.end(), options.begin(), options.end());
  if (!command.empty()) all.emplace_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return run_muster(all, environment);
}

}  // namespace muster
