#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "client/coordinator_client.h"
#include "client/wire.h"

namespace muster::client {

/// The destination of a backup. One call at a time; an error ends the backup.
struct BackupSink {
  /// Called before the first byte, and again if another server starts over: earlier bytes are void.
  /// On the waiting thread.
  std::function<Status()> begin;
  /// On the client's own thread.
  std::function<Status(const std::string& bytes)> take;
};

/// Copies the whole state of the servers to `sink`, at one place in the log. If a server fails,
/// another one starts over. Returns the number of bytes; before that the backup is not complete.
/// Blocks; not for the client's thread.
[[nodiscard]] Result<std::uint64_t> backup(Client& client, const BackupSink& sink,
                                           const CallOptions& options = {.timeout = 600s});

}  // namespace muster::client
