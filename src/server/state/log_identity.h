#pragma once

#include <string>

#include "base/result.h"

/// Which log a server has served, kept beside its state. A server that knows its log never makes
/// another: without this, an engine that was wiped would look like a new one, and the server would
/// go on with an empty cluster.
namespace muster::server {

/// The file in a data directory that says so.
[[nodiscard]] std::string log_identity_path(const std::string& data_dir);

/// The id that is kept; empty when there is none, or no data directory. kCorrupt when the file is
/// there and says nothing that can be an id.
[[nodiscard]] Result<std::string> known_log(const std::string& data_dir);

/// Keeps it, as a whole and over a power loss. Does nothing without a data directory.
[[nodiscard]] Status remember_log(const std::string& data_dir, const std::string& id);

}  // namespace muster::server
