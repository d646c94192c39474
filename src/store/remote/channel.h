#pragma once

#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::remote {

/// How to speak to a server: in the clear when every name is empty, else over TLS. `ca_file` names
/// whom to trust (the system's authorities when empty), the other two, given together, say who we
/// are. Files that are replaced
/// count for new connections, within seconds. kInvalid when a file cannot be read.
[[nodiscard]] Result<std::shared_ptr<grpc::ChannelCredentials>> credentials(
    const std::string& ca_file, const std::string& cert_file, const std::string& key_file);

/// Each of host, host:port, [v6] or [v6]:port, with `port` where none is named. kInvalid when one
/// is none of these.
[[nodiscard]] Result<std::vector<std::string>> with_ports(const std::vector<std::string>& hosts,
                                                          std::string_view port);

}  // namespace muster::remote
