#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::string to_lower(std::string_view text);
[[nodiscard]] std::string to_hex(std::span<const unsigned char> bytes);

/// Parses the whole text as a decimal number: no sign, no spaces, nothing after it, no overflow.
[[nodiscard]] std::optional<std::uint64_t> parse_unsigned(std::string_view text);

/// "250ms", "5s", "2m", "1h", "1.5s"; a bare "0" is allowed. kInvalid otherwise.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);
/// The shortest form that parse_duration reads back exactly, down to milliseconds.
[[nodiscard]] std::string format_duration(Duration d);

/// true/false, 1/0, yes/no, on/off in any case. kInvalid otherwise.
[[nodiscard]] Result<bool> parse_bool(std::string_view text);

/// The candidate with the smallest edit distance to `text`, for "did you mean"; empty if none is
/// close.
[[nodiscard]] std::string nearest(std::string_view text, std::span<const std::string> candidates);

/// Whether the bytes are valid UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view bytes);

/// Whether the text contains bytes that a terminal would act on instead of showing: line breaks,
/// escapes and similar, in UTF-8 also U+0080 to U+009F.
[[nodiscard]] bool has_controls(std::string_view text);
/// The text with every such byte escaped, as in \x1b, so that it stays on its line.
[[nodiscard]] std::string without_controls(std::string_view text);

/// %XX-decoding. kInvalid on a stray or malformed percent sign.
[[nodiscard]] Result<std::string> percent_decode(std::string_view text);

}  // namespace muster
