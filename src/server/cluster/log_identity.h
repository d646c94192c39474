#pragma once

#include <string>

#include "base/result.h"

/// The memory of a data directory: its server, and the log that this server has served.
namespace muster::server {

/// The file in a data directory that names the log.
[[nodiscard]] std::string log_identity_path(const std::string& data_dir);

/// The recorded id of the log; empty if there is none, or no data directory. kCorrupt if the
/// file does not contain an id. A server that knows its log never makes another one:
/// otherwise a wiped engine would look like a new one, and the server would go on with an
/// empty cluster.
[[nodiscard]] Result<std::string> known_log(const std::string& data_dir);

/// Records the id, as a whole and durably. Does nothing without a data directory.
[[nodiscard]] Status remember_log(const std::string& data_dir, const std::string& id);

/// Assigns the directory to `server`, unless it has it already. kConflict if it belongs to another
/// server id: a server that has answered under one id must not do so under two. Does nothing
/// without a data directory.
[[nodiscard]] Status claim_directory(const std::string& data_dir, const std::string& server);

}  // namespace muster::server
