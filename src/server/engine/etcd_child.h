#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "candidate/guarded_command.h"
#include "core/engine/etcd_words.h"
#include "platform/event_loop.h"
#include "server/engine/engine_options.h"

namespace muster::engine {

/// One run of etcd under its own guardian: if this process dies in any way, the guardian kills etcd
/// at once, and so does the destructor. etcd's log goes to this program's log. Threads: the loop
/// thread, which must outlive this.
class EtcdChild {
 public:
  /// Called once per run, when no process of it is left; may destroy this.
  using Ended = std::function<void(Diagnosis)>;

  EtcdChild(EventLoop& loop, const EngineOptions& options, Ended ended);
  ~EtcdChild();
  EtcdChild(const EtcdChild&) = delete;
  EtcdChild& operator=(const EtcdChild&) = delete;

  [[nodiscard]] Status start(const std::vector<std::string>& argv);
  /// Asks it to end, which hands its leadership over, and ends it by force after the grace.
  void terminate();
  /// Its last error message.
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

 private:
  void read_log();
  void take_line(std::string_view line);
  void finish(Diagnosis diagnosis);

  EventLoop& loop_;
  const EngineOptions& options_;
  Ended ended_;
  Timer kill_timer_;
  UniqueFd log_;
  std::string unread_;
  std::string last_error_;
  bool fatal_ = false;  ///< last_error_ is why it ended; what comes after is noise.
  GuardedCommand command_;
};

}  // namespace muster::engine
