#include "cli/certificate_order.h"

#include "base/text.h"
#include "core/membership/validation.h"
#include "core/security/identity.h"

namespace muster::cli {
namespace {

using security::Role;

/// "spiffe://site/app", "urn:x:y"; a bare "host:port" is no URI but a mistake.
bool is_uri(std::string_view text) {
  if (text.find("://") == std::string_view::npos && !text.starts_with("urn:")) return false;
  for (const char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

Status add_name(pki::CertificateOrder& order, const std::string& name) {
  if (membership::is_ipv4(name) || membership::is_ipv6(name)) {
    order.ip_addresses.push_back(name);
  } else if (to_lower(name).starts_with("muster:")) {
    return {Errc::kInvalid, "--san " + name + ": only --role and --carry make muster: names"};
  } else if (to_lower(name) == security::kServerName) {
    return {Errc::kInvalid, "--san " + name + ": only --role server makes this name"};
  } else if (is_uri(name)) {
    order.uris.push_back(name);
  } else if (membership::is_hostname(name)) {
    order.dns_names.push_back(name);
  } else {
    return {Errc::kInvalid, "--san " + name +
                                ": not a host name, address or URI; write names such as "
                                "h1.example,10.0.0.1 without a port"};
  }
  return Done{};
}

/// Servers are verified by their name, and nodes and agents register addresses.
Status check_addresses(Role role, const pki::CertificateOrder& order) {
  if (!order.dns_names.empty() || !order.ip_addresses.empty()) return Done{};
  if (role == Role::kAdmin || role == Role::kReader) return Done{};
  return {Errc::kInvalid, "the certificate of a " + std::string(to_string(role)) +
                              " needs its host name or address; give --san HOST,IP"};
}

Status check_id(const std::string& id) {
  if (id.empty()) return {Errc::kInvalid, "name the holder of the certificate: --id ID"};
  if (Status status = membership::validate_node_id(id); !status) return status;
  if (id == "ca") return {Errc::kInvalid, "the id ca is reserved for the CA; choose another"};
  return Done{};
}

}  // namespace

Result<pki::CertificateOrder> certificate_order(const IssueOrder& order, WallTime now,
                                                WallTime authority_expires) {
  using Use = pki::CertificateOrder::Use;
  if (Status status = check_id(order.id); !status) return status.error();
  pki::CertificateOrder made;
  made.common_name = order.id;
  made.use = order.role == Role::kServer ? Use::kServerAndClient : Use::kClient;
  made.not_before = now - kBackdate;
  made.not_after = now + std::chrono::days(order.days);
  auto uris = security::identity_uris(order.role, order.carries);
  if (!uris) return {Errc::kInvalid, "--carry: " + uris.error().message};
  made.uris = std::move(*uris);
  for (const std::string& name : order.sans) {
    if (Status status = add_name(made, name); !status) return status.error();
  }
  if (Status status = check_addresses(order.role, made); !status) return status.error();
  if (order.role == Role::kServer) made.dns_names.emplace_back(security::kServerName);
  if (made.not_after > authority_expires) {
    return {
        Errc::kInvalid,
        "the CA certificate expires before that; give --days " +
            std::to_string(std::chrono::floor<std::chrono::days>(authority_expires - now).count()) +
            " or fewer, or make a new CA"};
  }
  return made;
}

}  // namespace muster::cli
