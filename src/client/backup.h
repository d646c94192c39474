#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "client/coordinator_client.h"
#include "client/wire.h"

namespace muster::client {

/// Takes the next bytes; an error ends the backup with it. On the client's own thread.
using Sink = std::function<Status(const std::string& bytes)>;

/// Copies the whole state of the servers to `sink`, as of one place in the log. Returns how many
/// bytes. Nothing is complete before this has returned a number. Waits; not on the client's thread.
[[nodiscard]] Result<std::uint64_t> backup(Client& client, Sink sink,
                                           const CallOptions& options = {.timeout = 600s});

}  // namespace muster::client
