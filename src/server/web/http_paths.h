#pragma once

#include <string>
#include <string_view>

#include "platform/http/message.h"
#include "rpc/code.h"

namespace muster::server {

/// Whether a path is of the HTTP/JSON interface, /v1.
[[nodiscard]] bool is_v1(std::string_view path);

/// The kind of a path, as a label: v1, api, metrics, probe or page.
[[nodiscard]] const char* path_class(std::string_view path);

/// {"error": {"code": "NOT_FOUND", "message": "…"}}, the form of every error below /v1.
[[nodiscard]] http::Response v1_error(int status, rpc::Code code, const std::string& message);

/// A refusal that no service has decided, in the form that the path's answers have.
[[nodiscard]] http::Response refusal_at(std::string_view path, int status,
                                        const std::string& sentence);

/// Adds what every answer of musterd has: browsers run nothing in it, and keep nothing of it unless
/// it says so.
void add_common_headers(http::Response& response);

}  // namespace muster::server
