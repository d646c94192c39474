#pragma once

#include "server/web/api_json.h"

namespace muster::server {

/// The OpenAPI 3 description of /v1, made from operation_rows() and the contract's messages.
[[nodiscard]] const Json& openapi();

}  // namespace muster::server
