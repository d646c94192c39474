#include "store/postgres/address.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace muster::postgres {
namespace {

/// The parameters of libpq that an address may have. Others choose what the store itself chooses.
const std::array<std::string, 33> kParameters{"application_name",
                                              "channel_binding",
                                              "connect_timeout",
                                              "dbname",
                                              "gssdelegation",
                                              "gssencmode",
                                              "gsslib",
                                              "host",
                                              "keepalives",
                                              "keepalives_count",
                                              "keepalives_idle",
                                              "keepalives_interval",
                                              "krbsrvname",
                                              "options",
                                              "passfile",
                                              "password",
                                              "port",
                                              "require_auth",
                                              "requirepeer",
                                              "service",
                                              "ssl_max_protocol_version",
                                              "ssl_min_protocol_version",
                                              "sslcert",
                                              "sslcertmode",
                                              "sslcrl",
                                              "sslcrldir",
                                              "sslkey",
                                              "sslmode",
                                              "sslnegotiation",
                                              "sslpassword",
                                              "sslrootcert",
                                              "sslsni",
                                              "user"};
constexpr std::size_t kPrefixMax = 512;
constexpr std::uint64_t kPageMax = 10'000;

Error bad_address(std::string what) {
  return {Errc::kInvalid, std::move(what)};
}

/// host, host:port, [v6], [v6]:port, or the directory of a socket with its slashes as %2F.
Result<Host> parse_host(const std::string& text) {
  std::string_view name = text;
  std::string_view port;
  if (name.starts_with('[')) {
    const auto end = name.find(']');
    if (end == std::string_view::npos) return bad_address(text + " lacks the ] of its address");
    port = name.substr(end + 1);
    name = name.substr(1, end - 1);
    if (!port.empty() && !port.starts_with(':')) {
      return bad_address(text + " is not a host of a PostgreSQL address");
    }
  } else if (const auto colon = name.find(':'); colon != std::string_view::npos) {
    port = name.substr(colon);
    name = name.substr(0, colon);
  }
  if (!port.empty()) port.remove_prefix(1);
  auto decoded = percent_decode(name);
  if (!decoded || decoded->empty()) {
    return bad_address(text + " is not a host of a PostgreSQL address");
  }
  const auto number = parse_unsigned(port);
  if (!port.empty() && (!number || *number == 0 || *number > 65535)) {
    return bad_address("the port of " + text + " is not a number from 1 to 65535");
  }
  return Host{std::move(*decoded), std::string(port)};
}

Status take_prefix(const std::string& value, DatabaseAddress& address) {
  std::string prefix = value;
  while (prefix.ends_with('/')) prefix.pop_back();
  const bool good = prefix.size() <= kPrefixMax && is_utf8(prefix) && !prefix.starts_with('/') &&
                    prefix.find('\0') == std::string::npos &&
                    prefix.find("//") == std::string::npos;
  if (!good) {
    return bad_address(
        "the prefix of a PostgreSQL address is names with / between, up to 512 bytes");
  }
  if (!prefix.empty()) address.prefix = prefix + "/";
  return Done{};
}

Status take_option(const std::string& name, const std::string& value, DatabaseAddress& address) {
  if (value.find('\0') != std::string::npos) {
    return bad_address("the option " + name + " of the PostgreSQL address contains a zero byte");
  }
  if (name == "prefix") return take_prefix(value, address);
  if (name == "page") {
    const auto page = parse_unsigned(value);
    if (!page || *page == 0 || *page > kPageMax) {
      return bad_address("the option page of a PostgreSQL address is a number from 1 to 10000");
    }
    address.page_size = *page;
    return Done{};
  }
  if (name == "target_session_attrs") {
    if (value == "read-write" || value == "primary") return Done{};
    return bad_address(
        "only the server that accepts writes can decide an election: leave target_session_attrs "
        "out of the address, or write read-write");
  }
  if (std::binary_search(kParameters.begin(), kParameters.end(), name)) {
    address.parameters[name] = value;
    return Done{};
  }
  const std::string near = nearest(name, kParameters);
  return bad_address(
      "a PostgreSQL address has no option \"" + name + "\"" +
      (near.empty() ? "; see docs/postgres.md" : "; did you mean \"" + near + "\"?"));
}

/// Files that every store of this process uses, in libpq's words.
void adopt_tls(const TlsFiles& tls, bool tls13_only, DatabaseAddress& address) {
  auto& parameters = address.parameters;
  const bool own = std::any_of(parameters.begin(), parameters.end(), [](const auto& parameter) {
    return parameter.first.starts_with("ssl");
  });
  if (tls13_only && !parameters.contains("ssl_min_protocol_version")) {
    parameters["ssl_min_protocol_version"] = "TLSv1.3";
  }
  if (own || !tls.any()) return;
  parameters["sslmode"] = tls.ca.empty() ? "require" : "verify-full";
  if (!tls.ca.empty()) parameters["sslrootcert"] = tls.ca;
  if (!tls.cert.empty()) parameters["sslcert"] = tls.cert;
  if (!tls.key.empty()) parameters["sslkey"] = tls.key;
}

}  // namespace

Result<DatabaseAddress> DatabaseAddress::read(const Url& url, const TlsFiles& tls,
                                              bool tls13_only) {
  DatabaseAddress address;
  for (const auto& [name, value] : url.query) {
    if (Status taken = take_option(name, value, address); !taken) return taken.error();
  }
  for (const std::string& text : url.hosts) {
    auto host = parse_host(text);
    if (!host) return host.error();
    address.hosts.push_back(std::move(*host));
  }
  auto& parameters = address.parameters;
  if (const auto host = parameters.find("host"); host != parameters.end()) {
    if (!address.hosts.empty()) {
      return bad_address("the PostgreSQL address names its hosts twice, also as the option host");
    }
    const auto port = parameters.find("port");
    address.hosts = host_list(host->second, port == parameters.end() ? "" : port->second);
    parameters.erase("host");
    parameters.erase("port");
  }
  for (const auto& [name, value] :
       {std::pair("dbname", &url.path), {"user", &url.user}, {"password", &url.password}}) {
    if (value->empty()) continue;
    if (!parameters.emplace(name, *value).second) {
      return bad_address(std::string("the PostgreSQL address gives the ") + name + " twice");
    }
  }
  adopt_tls(tls, tls13_only, address);
  address.text = url.redacted();
  if (!address.prefix.empty()) {
    address.text += "?prefix=" + address.prefix.substr(0, address.prefix.size() - 1);
  }
  return address;
}

std::vector<Host> host_list(const std::string& hosts, const std::string& ports) {
  std::vector<Host> list;
  if (hosts.empty()) return list;
  const auto all_ports = split(ports, ',');
  for (const std::string_view name : split(hosts, ',')) {
    const std::size_t at = all_ports.size() == 1 ? 0 : list.size();
    list.push_back(
        {std::string(name), at < all_ports.size() ? std::string(all_ports[at]) : std::string()});
  }
  return list;
}

}  // namespace muster::postgres
