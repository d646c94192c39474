#include "platform/http/url.h"

#include <openssl/evp.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/text.h"

namespace muster::http {
namespace {

Error not_a_url() {
  return invalid("the address is not http://HOST[:PORT]/… or https://HOST[:PORT]/…");
}

/// Splits HOST[:PORT] or [ADDRESS][:PORT]; false when it is neither.
bool take_authority(std::string_view text, Url& url) {
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) return false;
    url.host = text.substr(1, end - 1);
    // A zone is written with an encoded percent sign (RFC 6874), and meant without.
    if (const auto zone = url.host.find("%25"); zone != std::string::npos)
      url.host.erase(zone + 1, 2);
    port = text.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return false;
  } else {
    const std::size_t colon = text.find(':');
    url.host = text.substr(0, colon);
    if (colon != text.npos) port = text.substr(colon);
    if (url.host.find_first_of("[]%") != std::string::npos) return false;
  }
  if (url.host.empty()) return false;
  if (port.size() <= 1) return true;
  const auto number = parse_unsigned(port.substr(1));
  if (!number || *number == 0 || *number > std::numeric_limits<std::uint16_t>::max()) return false;
  url.port = static_cast<std::uint16_t>(*number);
  return true;
}

}  // namespace

std::string Url::host_and_port() const {
  const bool six = host.find(':') != std::string::npos;
  return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Url> parse_url(const std::string& text, std::uint16_t default_port) {
  const bool odd = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7F;
  });
  const std::size_t scheme = text.find("://");
  if (odd || scheme == std::string::npos) return not_a_url();
  Url url;
  const std::string name = to_lower(std::string_view(text).substr(0, scheme));
  url.tls = name == "https";
  if (!url.tls && name != "http") return not_a_url();
  url.port = default_port != 0 ? default_port : url.tls ? 443 : 80;
  std::string_view rest = std::string_view(text).substr(scheme + 3);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, end);
  if (const std::size_t at = authority.rfind('@'); at != authority.npos) {
    const auto user = percent_decode(authority.substr(0, at));
    if (!user) return not_a_url();
    url.user = *user;
    if (url.user.find(':') == std::string::npos) url.user += ':';
    authority.remove_prefix(at + 1);
  }
  if (!take_authority(authority, url)) return not_a_url();
  url.authority = authority;
  url.target = rest.substr(end);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  return url;
}

std::string basic_credentials(const std::string& user) {
  std::string encoded(4 * ((user.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(user.data()),
                                   static_cast<int>(user.size()));
  encoded.resize(static_cast<std::size_t>(size));
  return "Basic " + encoded;
}

}  // namespace muster::http
