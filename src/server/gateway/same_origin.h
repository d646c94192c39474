#pragma once

#include "base/result.h"
#include "platform/http/message.h"

namespace muster::server {

/// Whether a request that changes something comes from a program, or from a page of this server:
/// not from a page of another site that a person's browser shows. kDenied otherwise. Programs send
/// none of the headers that this looks at.
[[nodiscard]] Status check_same_origin(const http::Request& request);

}  // namespace muster::server
