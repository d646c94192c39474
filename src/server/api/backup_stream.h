#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/random.h"
#include "log/move.h"
#include "rpc/call.h"

namespace muster::server {

/// Sends a backup of the log to one client, chunk by chunk. Chunks that the client has not taken
/// yet are held in memory, up to a limit; a slower client is refused and may try again. Threads:
/// loop thread only. Lives as long as its call.
class BackupStream : public std::enable_shared_from_this<BackupStream> {
 public:
  BackupStream(Loop& loop, Random random, rlog::Place source, rpc::CallPtr call);

  void start();

 private:
  Status take(std::string_view bytes);
  void send_next();

  rpc::CallPtr call_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool writing_ = false;
  bool complete_ = false;
  rlog::Backup backup_;
};

}  // namespace muster::server
