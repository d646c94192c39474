#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "rpc/code.h"

/// gRPC's formats in HTTP/2 headers. Pure.
namespace muster::rpc {

/// Parses `grpc-timeout`: one to eight digits and a unit (H, M, S, m, u, n), nothing else. None if
/// it has another form. More than a year counts as a year.
[[nodiscard]] std::optional<Duration> parse_timeout(std::string_view text);
/// The shortest form that is not below `timeout`; "0n" if it has passed.
[[nodiscard]] std::string format_timeout(Duration timeout);

/// The value of `grpc-message`: % and everything but printable ASCII as %XX.
[[nodiscard]] std::string percent_encode(std::string_view text);
/// A % without two hexadecimal digits after it is kept.
[[nodiscard]] std::string percent_decode(std::string_view text);

/// Values of headers whose name ends in -bin. Written without padding.
[[nodiscard]] std::string base64_encode(std::string_view bytes);
/// With padding or without; none if it is not base64.
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);

/// "application/grpc", optionally followed by "+proto" or parameters.
[[nodiscard]] bool is_grpc(std::string_view content_type);

/// The value of `grpc-status`; an unknown number is kUnknown.
[[nodiscard]] Code parse_code(std::string_view text);

/// The code of a call whose answer has no `grpc-status`: by its HTTP status, or by the error code
/// of the RST_STREAM that ended it.
[[nodiscard]] Code code_of_http(int status);
[[nodiscard]] Code code_of_reset(std::uint32_t http2_error);

}  // namespace muster::rpc
