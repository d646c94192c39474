#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "client/coordinator_client.h"
#include "client/wire.h"

namespace muster::client {

/// Where a backup goes. One call at a time, and an error ends the backup with it.
struct BackupSink {
  /// Before the first byte, and again when another server begins anew: what was taken is void. On
  /// the thread that waits.
  std::function<Status()> begin;
  /// On the client's own thread.
  std::function<Status(const std::string& bytes)> take;
};

/// Copies the whole state of the servers to `sink`, as of one place in the log. When a server fails
/// on the way, another is asked from the beginning. Returns how many bytes. Nothing is complete
/// before this has returned a number. Waits; not on the client's thread.
[[nodiscard]] Result<std::uint64_t> backup(Client& client, const BackupSink& sink,
                                           const CallOptions& options = {.timeout = 600s});

}  // namespace muster::client
