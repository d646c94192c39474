#include "core/membership/validation.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "core/routing/hash_ring.h"

namespace muster::membership {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_alnum(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// One label of a host name, and a node id: the same rule, RFC 1123 section 2.1.
bool is_label(std::string_view text) {
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_alnum(c) || c == '-'; });
}

/// Input is shown cut and printable, so that an error message cannot carry a megabyte or an
/// escape sequence into a log.
std::string shown(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, 64)) out += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > 64) out += "…";
  return out + "\"";
}

/// Groups of an IPv6 address on one side of "::", or none when they are malformed. The last group
/// of the address may be an IPv4 address, which counts for two.
std::optional<std::size_t> ipv6_groups(std::string_view text, bool at_end) {
  if (text.empty()) return 0;
  const std::vector<std::string_view> parts = split(text, ':');
  std::size_t count = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (at_end && i + 1 == parts.size() && is_ipv4(parts[i])) {
      count += 2;
    } else if (!parts[i].empty() && parts[i].size() <= 4 &&
               std::all_of(parts[i].begin(), parts[i].end(), is_hex)) {
      count += 1;
    } else {
      return {};
    }
  }
  return count;
}

/// Either the type or the name says which service it is.
Status validate_kind(const NodeSpec& node) {
  if (!node.service.empty()) {
    if (Status s = validate_service(node.service); !s) return s;
    NodeSpec named;
    set_service(named, node.service);
    if (node.type == NodeType::kUnknown && named.type == NodeType::kUnknown) return Done{};
    return invalid("service \"" + node.service + "\" and type " + to_string(node.type) +
                   " must not both be given");
  }
  if (node.type == NodeType::kFrontend || node.type == NodeType::kMetadata ||
      node.type == NodeType::kObject) {
    return Done{};
  }
  return invalid("type must be FRONTEND, METADATA or OBJECT, or service must be given");
}

}  // namespace

bool is_ipv4(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
           // A leading zero means octal to some parsers and decimal to others.
           if (part.size() > 3 || (part.size() > 1 && part[0] == '0')) return false;
           const auto value = parse_unsigned(part);
           return value && *value <= 255;
         });
}

bool is_ipv6(std::string_view text) {
  if (text.size() > 45) return false;
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) return ipv6_groups(text, true) == 8;
  const auto before = ipv6_groups(text.substr(0, gap), false);
  const auto after = ipv6_groups(text.substr(gap + 2), true);
  // "::" stands for at least one group of zeros (RFC 4291 section 2.2).
  return before && after && *before + *after <= 7;
}

bool is_hostname(std::string_view text) {
  if (!text.empty() && text.back() == '.') text.remove_suffix(1);
  if (text.empty() || text.size() > 253) return false;
  const std::vector<std::string_view> labels = split(text, '.');
  // A name whose last label is all digits would read as a (malformed) IPv4 address.
  return std::all_of(labels.begin(), labels.end(), is_label) &&
         !std::all_of(labels.back().begin(), labels.back().end(), is_digit);
}

Status validate_node_id(std::string_view id) {
  if (is_label(id)) return Done{};
  return invalid("node id " + shown(id) +
                 " must be 1 to 63 ASCII letters, digits or hyphens, with no hyphen at either end");
}

Status validate_address(std::string_view address) {
  if (is_ipv4(address) || is_ipv6(address) || is_hostname(address)) return Done{};
  return invalid("address " + shown(address) +
                 " must be an IPv4 address, an IPv6 address without brackets, or a host name of at "
                 "most 253 characters");
}

Status validate_endpoint(std::string_view endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon != std::string_view::npos) {
    std::string_view host = endpoint.substr(0, colon);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    const auto port = parse_unsigned(endpoint.substr(colon + 1));
    if (port && *port >= 1 && *port <= 65535 &&
        (bracketed ? is_ipv6(host) : is_ipv4(host) || is_hostname(host))) {
      return Done{};
    }
  }
  return invalid("address " + shown(endpoint) + " must be host:port or [IPv6 address]:port");
}

Status validate_port(std::uint32_t port) {
  if (port >= 1 && port <= 65535) return Done{};
  return invalid("port " + std::to_string(port) + " must be between 1 and 65535");
}

Status validate_generation(std::string_view uuid) {
  bool good = uuid.size() == 36;
  for (std::size_t i = 0; good && i < uuid.size(); ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    good = hyphen ? uuid[i] == '-' : is_hex(uuid[i]);
  }
  if (good) return Done{};
  return invalid("generation_id " + shown(uuid) + " must be a UUID: 8-4-4-4-12 hexadecimal digits");
}

Status validate_service(std::string_view service) {
  const bool good =
      is_label(service) && service.front() >= 'a' && service.front() <= 'z' &&
      std::none_of(service.begin(), service.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (good) return Done{};
  return invalid("service " + shown(service) +
                 " must be 1 to 63 lower-case ASCII letters, digits or hyphens, begin with a "
                 "letter and not end with a hyphen");
}

Status validate_tag_key(std::string_view key) {
  const bool good = !key.empty() && key.size() <= 63 && is_alnum(key.front()) &&
                    is_alnum(key.back()) && std::all_of(key.begin(), key.end(), [](char c) {
                      return is_alnum(c) || c == '.' || c == '_' || c == '-' || c == '/';
                    });
  if (good) return Done{};
  return invalid("key " + shown(key) +
                 " of a tag must be 1 to 63 ASCII letters, digits or any of . _ - /, with a letter "
                 "or digit at either end");
}

Status validate_tag_value(std::string_view key, std::string_view value) {
  if (value.size() <= 255 && is_utf8(value) && !has_controls(value)) return Done{};
  return invalid("value " + shown(value) + " of tag " + std::string(key) +
                 " must be at most 255 bytes of UTF-8 without control characters");
}

Status validate(const Tags& tags) {
  if (tags.size() > kTagsMax) {
    return invalid("a node must have at most " + std::to_string(kTagsMax) + " tags, and has " +
                   std::to_string(tags.size()));
  }
  std::size_t bytes = 0;
  for (const auto& [key, value] : tags) {
    if (Status s = validate_tag_key(key); !s) return s;
    if (Status s = validate_tag_value(key, value); !s) return s;
    bytes += key.size() + value.size();
  }
  if (bytes <= kTagBytesMax) return Done{};
  return invalid("the tags of a node must have at most " + std::to_string(kTagBytesMax) +
                 " bytes together, and have " + std::to_string(bytes));
}

Status validate_reported_state(NodeState state) {
  switch (state) {
    case NodeState::kUnknown:
    case NodeState::kActive:
    case NodeState::kJoining:
    case NodeState::kDraining:
      return Done{};
    case NodeState::kDown:
    case NodeState::kSuspect:
      break;
  }
  return invalid(std::string("reported_state ") + to_string(state) +
                 " must be ACTIVE, JOINING or DRAINING, or left out; only the coordinator decides "
                 "on SUSPECT and DOWN");
}

Status validate(const NodeSpec& node) {
  if (Status s = validate_node_id(node.id.value()); !s) return s;
  if (Status s = validate_address(node.address); !s) return s;
  if (Status s = validate_port(node.port); !s) return s;
  if (Status s = validate_generation(node.generation.value()); !s) return s;
  if (Status s = validate_kind(node); !s) return s;
  if (Status s = validate(node.tags); !s) return s;
  if (node.weight < 1 || node.weight > kWeightMax) {
    return invalid("weight " + std::to_string(node.weight) + " must be between 1 and " +
                   std::to_string(kWeightMax));
  }
  return Done{};
}

Status validate(const RingConfig& ring) {
  if (ring.virtual_nodes_per_physical < 1 ||
      ring.virtual_nodes_per_physical > kVirtualNodesPerPhysicalMax) {
    return invalid("virtual_nodes_per_physical " + std::to_string(ring.virtual_nodes_per_physical) +
                   " must be between 1 and " + std::to_string(kVirtualNodesPerPhysicalMax));
  }
  if (ring.replication_factor < 1 || ring.replication_factor > kReplicationFactorMax) {
    return invalid("replication_factor " + std::to_string(ring.replication_factor) +
                   " must be between 1 and " + std::to_string(kReplicationFactorMax));
  }
  return Done{};
}

Status validate_virtual_nodes(std::uint32_t weight, std::uint32_t virtual_nodes_per_physical) {
  const std::uint64_t count = std::uint64_t{weight} * virtual_nodes_per_physical;
  if (count <= HashRing::kVirtualNodesMax) return Done{};
  return invalid("weight " + std::to_string(weight) + " × virtual_nodes_per_physical " +
                 std::to_string(virtual_nodes_per_physical) + " must be at most " +
                 std::to_string(HashRing::kVirtualNodesMax) + " for each node, and is " +
                 std::to_string(count));
}

}  // namespace muster::membership
