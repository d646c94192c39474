#include "rpc/wire.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::rpc {
namespace {

constexpr Duration kTimeoutMax = std::chrono::hours(24 * 365);
constexpr std::uint64_t kTimeoutDigitsMax = 99'999'999;

struct Unit {
  char letter;
  Duration length;
};
// The finest first.
constexpr std::array<Unit, 6> kUnits = {{{'n', std::chrono::nanoseconds(1)},
                                         {'u', std::chrono::microseconds(1)},
                                         {'m', std::chrono::milliseconds(1)},
                                         {'S', std::chrono::seconds(1)},
                                         {'M', std::chrono::minutes(1)},
                                         {'H', std::chrono::hours(1)}}};

constexpr std::string_view kHex = "0123456789ABCDEF";
constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

std::optional<Duration> parse_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  const auto unit = std::ranges::find(kUnits, text.back(), &Unit::letter);
  if (unit == kUnits.end()) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  if (number > kTimeoutMax / unit->length) return kTimeoutMax;
  return number * unit->length;
}

std::string format_timeout(Duration timeout) {
  if (timeout <= Duration(0)) return "0n";
  for (const Unit& unit : kUnits) {
    const auto number =
        static_cast<std::uint64_t>((timeout + unit.length - Duration(1)) / unit.length);
    if (number <= kTimeoutDigitsMax) return std::to_string(number) + unit.letter;
  }
  return std::to_string(kTimeoutDigitsMax) + "H";
}

std::string percent_encode(std::string_view text) {
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    if (c >= 0x20 && c < 0x7f && c != '%') {
      encoded.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded.push_back('%');
      encoded.push_back(kHex[byte >> 4U]);
      encoded.push_back(kHex[byte & 15U]);
    }
  }
  return encoded;
}

std::string percent_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto high = hex_digit(text[i + 1]);
      const auto low = hex_digit(text[i + 2]);
      if (high && low) {
        decoded.push_back(static_cast<char>(*high * 16 + *low));
        i += 2;
        continue;
      }
    }
    decoded.push_back(text[i]);
  }
  return decoded;
}

std::string base64_encode(std::string_view bytes) {
  std::string encoded;
  encoded.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) encoded.push_back(kBase64[(bits >> (held - 6)) & 63U]);
  }
  if (held > 0) encoded.push_back(kBase64[(bits << (6 - held)) & 63U]);
  return encoded;
}

std::optional<std::string> base64_decode(std::string_view text) {
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string decoded;
  decoded.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : text) {
    const auto digit = kBase64.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    decoded.push_back(static_cast<char>((bits >> held) & 255U));
  }
  return decoded;
}

bool is_grpc(std::string_view content_type) {
  constexpr std::string_view kType = "application/grpc";
  if (!content_type.starts_with(kType)) return false;
  const std::string_view rest = content_type.substr(kType.size());
  return rest.empty() || rest.front() == '+' || rest.front() == ';';
}

Code parse_code(std::string_view text) {
  const auto number = parse_unsigned(text);
  if (!number || *number > static_cast<std::uint64_t>(Code::kUnauthenticated)) {
    return Code::kUnknown;
  }
  return static_cast<Code>(*number);
}

Code code_of_http(int status) {
  switch (status) {
    case 400:
      return Code::kInternal;
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kUnimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return Code::kUnavailable;
    default:
      return Code::kUnknown;
  }
}

Code code_of_reset(std::uint32_t http2_error) {
  switch (http2_error) {
    case NGHTTP2_REFUSED_STREAM:
      return Code::kUnavailable;
    case NGHTTP2_CANCEL:
      return Code::kCancelled;
    case NGHTTP2_ENHANCE_YOUR_CALM:
      return Code::kResourceExhausted;
    case NGHTTP2_INADEQUATE_SECURITY:
      return Code::kPermissionDenied;
    default:
      return Code::kInternal;
  }
}

}  // namespace muster::rpc
