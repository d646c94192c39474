#pragma once

#include "platform/http/message.h"
#include "rpc/status.h"
#include "server/web/api_json.h"

namespace muster::server {

/// The HTTP status for the outcome of a call.
[[nodiscard]] int http_status(rpc::Code code);
/// {"error": {"code", "message"}} with what else the status tells.
[[nodiscard]] Json error_json(const rpc::RpcStatus& status);
/// Both, with Retry-After if the client is to wait. `status` is not OK.
[[nodiscard]] http::Response error_response(const rpc::RpcStatus& status);

}  // namespace muster::server
