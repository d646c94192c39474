#include "platform/http/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "base/text.h"

namespace muster::http {
namespace {

/// Where an address of a proxy names no port, this is curl's.
constexpr std::uint16_t kProxyPort = 1080;

std::string first_of(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string value = environment(name); !value.empty()) return value;
  }
  return {};
}

struct AddressBytes {
  std::array<unsigned char, 16> bytes{};
  unsigned size = 0;  ///< 4 or 16; 0 for what is no address.
};

AddressBytes address_bytes(const std::string& text) {
  AddressBytes address;
  if (::inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) {
    address.size = 4;
  } else if (::inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) {
    address.size = 16;
  }
  return address;
}

bool in_network(const AddressBytes& address, const std::string& network) {
  const std::size_t slash = network.find('/');
  const AddressBytes base = address_bytes(network.substr(0, slash));
  if (base.size == 0 || base.size != address.size) return false;
  std::uint64_t bits = base.size * 8;
  if (slash != std::string::npos) {
    const auto said = parse_unsigned(network.substr(slash + 1));
    if (!said || *said > bits) return false;
    bits = *said;
  }
  for (unsigned i = 0; i < base.size && bits > 0; ++i) {
    const auto here = static_cast<unsigned>(std::min<std::uint64_t>(bits, 8));
    const unsigned mask = (0xFFU << (8 - here)) & 0xFFU;
    if (((base.bytes[i] ^ address.bytes[i]) & mask) != 0) return false;
    bits -= here;
  }
  return true;
}

bool in_domain(std::string_view host, std::string_view domain) {
  while (domain.starts_with('.')) domain.remove_prefix(1);
  if (domain.ends_with('.')) domain.remove_suffix(1);
  if (domain.empty() || !host.ends_with(domain)) return false;
  return host.size() == domain.size() || host[host.size() - domain.size() - 1] == '.';
}

std::string_view unbracketed(std::string_view text) {
  if (!text.starts_with('[')) return text;
  text.remove_prefix(1);
  return text.substr(0, text.find(']'));
}

}  // namespace

bool named_by(const std::string& list, const std::string& host) {
  if (trim(list) == "*") return true;
  std::string name = to_lower(host);
  if (name.ends_with('.')) name.pop_back();
  const AddressBytes address = address_bytes(name);
  std::string spaced = to_lower(list);
  std::replace(spaced.begin(), spaced.end(), ' ', ',');
  std::replace(spaced.begin(), spaced.end(), '\t', ',');
  for (const std::string_view each : split(spaced, ',')) {
    if (each.empty()) continue;
    const bool named = address.size > 0 ? in_network(address, std::string(unbracketed(each)))
                                        : in_domain(name, each);
    if (named) return true;
  }
  return false;
}

Result<std::optional<Url>> proxy_for(const Url& url, const Environment& environment) {
  std::string address = url.tls ? first_of(environment, {"https_proxy", "HTTPS_PROXY"})
                                : first_of(environment, {"http_proxy"});
  if (address.empty()) address = first_of(environment, {"all_proxy", "ALL_PROXY"});
  if (address.empty()) return std::optional<Url>();
  if (named_by(first_of(environment, {"no_proxy", "NO_PROXY"}), url.host)) {
    return std::optional<Url>();
  }
  if (address.find("://") == std::string::npos) address.insert(0, "http://");
  auto proxy = parse_url(address, kProxyPort);
  if (!proxy || proxy->tls) {
    return invalid("the proxy that the environment names is not http://[USER:PASSWORD@]HOST:PORT");
  }
  return std::optional<Url>(std::move(*proxy));
}

}  // namespace muster::http
