#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "rpc/code.h"

/// How gRPC writes things in HTTP/2 headers. Pure.
namespace muster::rpc {

/// The value of `grpc-timeout`: one to eight digits and a unit (H, M, S, m, u, n), nothing else.
/// None when it is not that. What exceeds a year counts as a year.
[[nodiscard]] std::optional<Duration> parse_timeout(std::string_view text);
/// The shortest that is not below `timeout`; "0n" for one that has passed.
[[nodiscard]] std::string format_timeout(Duration timeout);

/// The value of `grpc-message`: what is not printable ASCII, and %, as %XX.
[[nodiscard]] std::string percent_encode(std::string_view text);
/// A % that two hexadecimal digits do not follow stays as it is.
[[nodiscard]] std::string percent_decode(std::string_view text);

/// Values of headers whose name ends in -bin. Written without padding.
[[nodiscard]] std::string base64_encode(std::string_view bytes);
/// With padding or without; none when it is not base64.
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);

/// "application/grpc", with "+proto" or parameters behind it.
[[nodiscard]] bool is_grpc(std::string_view content_type);

/// The value of `grpc-status`; a number that is none of the codes is kUnknown.
[[nodiscard]] Code parse_code(std::string_view text);

/// What a call ends with when an answer has no `grpc-status`: by its HTTP status, or by the error
/// code of the RST_STREAM that ended it.
[[nodiscard]] Code code_of_http(int status);
[[nodiscard]] Code code_of_reset(std::uint32_t http2_error);

}  // namespace muster::rpc
