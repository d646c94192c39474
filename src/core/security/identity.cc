#include "core/security/identity.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "core/membership/validation.h"

namespace muster::security {
namespace {

using membership::validate_address;
using membership::validate_node_id;

constexpr std::string_view kScheme = "muster:";
constexpr std::string_view kRolePart = "role:";
constexpr std::string_view kCarriesPart = "carries:";

Error denied(std::string message) {
  return {Errc::kDenied, std::move(message)};
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all.empty() ? "none" : all;
}

/// "node-1", or "rack7-*" for every id that begins so.
Status add_carried(Identity& who, std::string_view text) {
  const bool prefix = text.ends_with('*');
  if (prefix) text.remove_suffix(1);
  // What may begin an id is an id itself, once a hyphen at its end is followed by something.
  if (!validate_node_id(prefix ? std::string(text) + "0" : std::string(text)) || text.empty()) {
    return {Errc::kInvalid, "an agent carries ids such as node-1, or prefixes such as rack7-*"};
  }
  (prefix ? who.carried_prefixes : who.carried_ids).emplace_back(text);
  return Done{};
}

Status read_uris(const CertificateNames& names, Identity& who) {
  int roles = 0;
  for (const std::string& uri : names.uris) {
    std::string_view text = uri;
    // Schemes are compared without case: nobody else may read MUSTER:role:admin as ours.
    if (to_lower(text.substr(0, kScheme.size())) != kScheme) continue;
    text.remove_prefix(kScheme.size());
    if (text.starts_with(kRolePart)) {
      const auto role = parse_role(text.substr(kRolePart.size()));
      if (!role) return denied("the certificate names a role that does not exist");
      who.role = *role;
      ++roles;
    } else if (text.starts_with(kCarriesPart)) {
      const Status added = add_carried(who, text.substr(kCarriesPart.size()));
      if (!added) return denied("the certificate is malformed: " + added.error().message);
    } else {
      return denied("the certificate has a muster: name that this version does not know");
    }
  }
  if (roles == 1) return Done{};
  return denied(roles == 0 ? "the certificate names no role (a URI muster:role:… is missing)"
                           : "the certificate names more than one role");
}

Status check_carried(const Identity& who) {
  const bool carries = !who.carried_ids.empty() || !who.carried_prefixes.empty();
  if (who.role == Role::kAgent && !carries) {
    return denied("the agent's certificate names no node that it may speak for");
  }
  if (who.role != Role::kAgent && carries) {
    return denied("only an agent's certificate may name nodes that it speaks for");
  }
  return Done{};
}

bool carries(const Identity& agent, std::string_view id) {
  const auto& ids = agent.carried_ids;
  const auto& prefixes = agent.carried_prefixes;
  return std::find(ids.begin(), ids.end(), id) != ids.end() ||
         std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return id.starts_with(prefix); });
}

std::string describe_carried(const Identity& agent) {
  std::vector<std::string> all = agent.carried_ids;
  for (const std::string& prefix : agent.carried_prefixes) all.push_back(prefix + "*");
  return joined(all);
}

}  // namespace

Result<Identity> identify(const CertificateNames& names) {
  Identity who;
  if (Status status = read_uris(names, who); !status) return status.error();
  if (Status status = check_carried(who); !status) return status.error();
  if (names.common_names.size() != 1) {
    return denied("the certificate must have exactly one common name, and has " +
                  std::to_string(names.common_names.size()));
  }
  who.id = names.common_names.front();
  if (const Status valid = validate_node_id(who.id); !valid) {
    return denied("the certificate's common name is not an id: " + valid.error().message);
  }
  for (const auto* list : {&names.dns_names, &names.ip_addresses}) {
    for (const std::string& address : *list) {
      // One that stands for many hosts would let its holder be any of them to who compares names.
      if (address.find('*') != std::string::npos) {
        return denied("the certificate has a wildcard name; it must name each of its hosts");
      }
      // Others that are the address of no node serve other purposes.
      if (validate_address(address)) who.addresses.push_back(canonical_address(address));
    }
  }
  return who;
}

Status may_speak_for(const Identity& who, std::string_view node_id) {
  if (Status status = validate_node_id(node_id); !status) return status;
  const std::string id(node_id);
  switch (who.role) {
    case Role::kServer:
    case Role::kAdmin:
      return Done{};
    case Role::kNode:
      if (who.id == id) return Done{};
      return denied("the certificate is of node " + who.id + " and cannot speak for node " + id);
    case Role::kAgent:
      if (carries(who, id)) return Done{};
      return denied("the certificate of agent " + who.id + " does not carry node " + id +
                    "; it carries " + describe_carried(who));
    case Role::kReader:
      return denied("the certificate of reader " + who.id + " may not speak for " + id);
  }
  return denied("the role is unknown");
}

Status may_register(const Identity& who, std::string_view node_id, std::string_view address) {
  if (Status status = may_speak_for(who, node_id); !status) return status;
  if (Status status = validate_address(address); !status) return status;
  if (who.role == Role::kServer || who.role == Role::kAdmin) return Done{};
  const std::string wanted = canonical_address(address);
  const auto& all = who.addresses;
  if (std::find(all.begin(), all.end(), wanted) != all.end()) return Done{};
  return denied("the certificate of " + std::string(to_string(who.role)) + " " + who.id +
                " does not hold the address " + wanted + "; it holds " + joined(all));
}

std::string canonical_address(std::string_view address) {
  const std::string text(address);
  if (membership::is_ipv6(address)) {
    in6_addr bytes{};
    std::array<char, INET6_ADDRSTRLEN> shortest{};
    if (::inet_pton(AF_INET6, text.c_str(), &bytes) == 1 &&
        ::inet_ntop(AF_INET6, &bytes, shortest.data(), shortest.size()) != nullptr) {
      return shortest.data();
    }
  }
  std::string name = to_lower(text);
  if (name.ends_with('.')) name.pop_back();
  return name;
}

Result<std::vector<std::string>> identity_uris(Role role, std::span<const std::string> carries) {
  Identity who;
  who.role = role;
  std::vector<std::string> uris{std::string(kScheme) + std::string(kRolePart) + to_string(role)};
  for (const std::string& each : carries) {
    if (Status status = add_carried(who, each); !status) {
      return {Errc::kInvalid, "\"" + each + "\": " + status.error().message};
    }
    uris.push_back(std::string(kScheme) + std::string(kCarriesPart) + each);
  }
  if (Status status = check_carried(who); !status) {
    return {Errc::kInvalid, role == Role::kAgent
                                ? "an agent needs the ids, or prefixes of ids, that it carries"
                                : "only an agent carries other nodes"};
  }
  return uris;
}

}  // namespace muster::security
