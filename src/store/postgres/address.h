#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/pki/tls_files.h"
#include "store/url.h"

namespace muster::postgres {

/// One server of an address.
struct Host {
  std::string name;  ///< A name, an IP address without brackets, or the directory of a socket.
  std::string port;  ///< Empty: what libpq takes for it.

  [[nodiscard]] bool is_socket() const { return name.starts_with('/') || name.starts_with('@'); }
  friend bool operator==(const Host&, const Host&) = default;
};

/// A postgres:// address, taken apart. Pure.
struct DatabaseAddress {
  std::vector<Host> hosts;  ///< Empty: the service file, PGHOST or libpq's default decides.
  /// libpq's own parameters by their names, the database, user and password among them. Secret.
  std::map<std::string, std::string> parameters;
  std::string prefix;  ///< In front of every key; empty, or ends in '/'.
  std::size_t page_size = 1000;
  std::string text;  ///< For people: without user, password and libpq's parameters.

  /// `tls` and `tls13_only` hold where the address says nothing about TLS. Returns kInvalid and one
  /// sentence, which contains no value of a parameter, if the address is invalid.
  [[nodiscard]] static Result<DatabaseAddress> read(const Url& url, const TlsFiles& tls,
                                                    bool tls13_only);
};

/// The hosts that libpq's lists mean, "h1,h2" with "5432,5433", or one port for all.
[[nodiscard]] std::vector<Host> host_list(const std::string& hosts, const std::string& ports);

}  // namespace muster::postgres
