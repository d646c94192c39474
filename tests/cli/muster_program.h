#pragma once

#include <signal.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/child_process.h"

namespace muster {

using Words = std::vector<std::string>;

/// What one run of `muster` left behind.
struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// `words` with standard error in the file `errors`. Ended by the kernel should this process die,
/// and by an alarm should it run for minutes, so that a test that waits for it fails instead.
inline Words prepared(const Words& words, const std::string& errors,
                      const std::string& redirect = "") {
  Words all{"setpriv", "--pdeathsig", "KILL", "perl", "-e", "alarm 120; exec @ARGV"};
  all.insert(all.end(), {"sh", "-c"});
  all.push_back("errors=$1; shift; exec \"$@\" 2>\"$errors\"" + redirect);
  all.insert(all.end(), {std::string("sh"), errors, std::string(MUSTER_PROGRAM)});
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

inline std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Runs it to its end. `redirect` is a shell redirection on top, such as " >/dev/full".
inline Outcome run_muster(const Words& words, const Words& environment = {},
                          const std::string& redirect = "") {
  const TempDir dir;
  const std::string errors = dir.path() / "errors";
  ChildProcess child(prepared(words, errors, redirect), environment);
  Outcome outcome;
  for (std::string line = child.read_line(); !line.empty(); line = child.read_line()) {
    outcome.out += line + "\n";
  }
  outcome.code = child.finish();
  outcome.err = content(errors);
  return outcome;
}

/// A running `muster worker` with short timings. It does not outlive this.
class Worker {
 public:
  Worker(const std::string& arbiter, const std::string& id, const Words& more = {},
         const std::string& lease = "1s")
      : child_(prepared(words(arbiter, id, more, lease), errors())) {}
  ~Worker() { child_.kill(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The next event; null at the end of the output.
  nlohmann::json next() {
    const std::string line = child_.read_line();
    return line.empty() ? nlohmann::json() : nlohmann::json::parse(line);
  }
  /// The next event of that name; null when there is none.
  nlohmann::json next(const std::string& event) {
    nlohmann::json json = next();
    while (!json.is_null() && json["event"] != event) json = next();
    return json;
  }
  /// What it has written to standard error.
  [[nodiscard]] std::string errors_so_far() const { return content(errors()); }
  void kill() { child_.kill(); }
  /// Asks it to stop and answers with its exit code.
  int terminate() {
    ::kill(child_.pid(), SIGTERM);
    return child_.finish();
  }

 private:
  static Words words(const std::string& arbiter, const std::string& id, const Words& more,
                     const std::string& lease) {
    Words all{"worker", "--arbiter", arbiter, "--id", id, "--json", "--lease-timeout", lease};
    all.insert(all.end(), {"--heartbeat-interval", "200ms", "--heartbeat-jitter", "50ms"});
    all.insert(all.end(), {"--request-timeout", "200ms", "--worker-timeout", "2s"});
    all.insert(all.end(), {"--startup-jitter-max", "0s"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] std::string errors() const { return dir_.path() / "errors"; }

  TempDir dir_;
  ChildProcess child_;
};

}  // namespace muster
