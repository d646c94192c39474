#pragma once

#include <string>

#include "core/security/permissions.h"
#include "muster/v1/admin.pb.h"

namespace muster::server {

/// Whether the audit log records a call: what changes something or takes everything, heartbeats and
/// renewals apart, which are too many and say nothing new. The writes of a stream and the terms of
/// a campaign are recorded one by one.
[[nodiscard]] bool is_recorded(security::Call what);

// The subject of a change, for the audit log: a node, a key, a server. Never a value.

[[nodiscard]] std::string subject(const v1::DrainNodeRequest& request);
[[nodiscard]] std::string subject(const v1::SetHashRingRequest& request);
[[nodiscard]] std::string subject(const v1::RemoveServerRequest& request);
[[nodiscard]] std::string subject(const v1::TransferLeadershipRequest& request);
/// The address of the target without user, password and options.
[[nodiscard]] std::string subject(const v1::MoveRequest& request);

/// The same for the bytes of any request, such as one that is refused before a service reads it.
/// Empty when the request names nothing, or cannot be read. Of a stream's message, the first.
[[nodiscard]] std::string subject_of(security::Call call, const std::string& bytes);

}  // namespace muster::server
