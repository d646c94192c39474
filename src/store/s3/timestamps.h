#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace muster::s3 {

/// "20130524T000000Z", as signatures require.
[[nodiscard]] std::string format_amz_date(WallTime time);
/// "Fri, 24 May 2013 00:00:00 GMT", as in the headers Date and Last-Modified.
[[nodiscard]] std::optional<WallTime> parse_http_date(std::string_view text);
/// "2013-05-24T00:00:00Z", with or without a fraction, UTC only.
[[nodiscard]] std::optional<WallTime> parse_iso_time(std::string_view text);

}  // namespace muster::s3
