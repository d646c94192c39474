#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "base/loop.h"
#include "rpc/call.h"

namespace muster::server {

/// Answers that take long to make, one per turn of the loop. Other input, heartbeats above all, is
/// processed in between, so that no number of readers delays a heartbeat by more than one answer.
/// Bounded: further readers are refused with RESOURCE_EXHAUSTED. Threads: loop thread only.
class ReadLane {
 public:
  explicit ReadLane(Loop& loop, std::size_t waiting_max = 4096)
      : loop_(loop), waiting_max_(waiting_max) {}
  ReadLane(const ReadLane&) = delete;
  ReadLane& operator=(const ReadLane&) = delete;

  /// Runs `answer` in its turn, perhaps now; never if the client has disconnected.
  void add(const rpc::CallPtr& call, std::function<void()> answer);

 private:
  void next();

  Loop& loop_;
  const std::size_t waiting_max_;
  std::deque<std::pair<rpc::CallPtr, std::function<void()>>> waiting_;
  bool taken_ = false;  ///< This turn has had its answer.
  Lifetime lifetime_;
};

}  // namespace muster::server
