#pragma once

#include <string>

#include "base/result.h"

/// What a data directory knows: which server it belongs to, and which log that server has served.
namespace muster::server {

/// The file in a data directory that names the log.
[[nodiscard]] std::string log_identity_path(const std::string& data_dir);

/// The id of the log that is kept; empty when there is none, or no data directory. kCorrupt when
/// the file is there and says nothing that can be an id. A server that knows its log never makes
/// another: without this, an engine that was wiped would look like a new one, and the server would
/// go on with an empty cluster.
[[nodiscard]] Result<std::string> known_log(const std::string& data_dir);

/// Keeps it, as a whole and over a power loss. Does nothing without a data directory.
[[nodiscard]] Status remember_log(const std::string& data_dir, const std::string& id);

/// Makes the directory that of `server`, unless it is already. kConflict when it is another
/// server's: one that has answered under its name, and must not do so under two. Does nothing
/// without a data directory.
[[nodiscard]] Status claim_directory(const std::string& data_dir, const std::string& server);

}  // namespace muster::server
