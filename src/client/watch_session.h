#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "client/caller.h"
#include "core/client/watch_machine.h"

namespace muster::client {

/// The streams of one watch, one after another, as WatchMachine decides. Threads: loop thread only.
class WatchSession {
 public:
  using Listener = std::function<void(const WatchEvent&)>;

  /// Begins at once. The listener may destroy this.
  WatchSession(Caller& caller, const WatchConfig& config, Listener listener);
  WatchSession(const WatchSession&) = delete;
  WatchSession& operator=(const WatchSession&) = delete;

 private:
  void open();
  void on_message(const std::string& body);
  void on_end(const std::string& reason);
  void watch_silence();
  /// False if the listener has destroyed this.
  [[nodiscard]] bool deliver(const std::vector<WatchEvent>& events);

  Caller& caller_;
  Listener listener_;
  const ServiceFilter services_;
  WatchMachine machine_;
  std::string server_;
  std::unique_ptr<Stream> stream_;
  Timer timer_;        ///< Ends a silent stream, or opens the next one.
  bool told_ = false;  ///< The listener knows that there is no stream.
  Lifetime lifetime_;
};

}  // namespace muster::client
