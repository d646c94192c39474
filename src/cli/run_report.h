#pragma once

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "candidate/telemetry.h"
#include "cli/status_server.h"
#include "cli/terminal.h"

namespace muster::cli {

/// Tells people or programs what `muster run` does. Everything goes to standard error: standard
/// output belongs to the command. People get a sentence where something changed for them; --json
/// gets every event, one object a line. One thread; the log lines it prints come from any.
class RunReport {
 public:
  /// With `json`, the log of this process is printed as JSON lines, too.
  RunReport(Terminal& terminal, std::string name, bool json);
  ~RunReport();
  RunReport(const RunReport&) = delete;
  RunReport& operator=(const RunReport&) = delete;

  void event(const telemetry::Event& event);
  void child_started(const std::string& child, pid_t pid);
  void child_ended(const std::string& child, const std::string& how);
  /// A command ended by itself and left `pid`, and maybe others, which are being ended.
  void child_left(const std::string& child, pid_t pid);
  void hook_failed(const std::string& why);
  void listening(const Address& address);
  /// The last line. `why` is empty when the command's own end is all there is to say.
  void exit(int code, const std::string& why);

 private:
  void say(const std::string& sentence);
  void print(nlohmann::ordered_json json);

  Terminal& terminal_;
  const std::string name_;
  const bool json_;
  std::map<std::string, std::string> ended_;  ///< How each child last ended in this term.
};

}  // namespace muster::cli
