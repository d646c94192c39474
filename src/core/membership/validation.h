#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "core/membership/node.h"

namespace muster::membership {

/// The limits of requests. Every refusal is kInvalid and names the field and the rule. Checked
/// before a command is proposed and never when it is applied: rules may change between versions,
/// and replicas of two versions must still agree on the effect of a log entry.

inline constexpr std::uint32_t kWeightMax = 1000;
inline constexpr std::uint32_t kVirtualNodesPerPhysicalMax = 4096;
inline constexpr std::uint32_t kReplicationFactorMax = 64;
inline constexpr std::size_t kTagsMax = 32;
/// Keys and values of one node together: every server and every watcher keeps them in memory.
inline constexpr std::size_t kTagBytesMax = 4096;

/// 1 to 63 ASCII letters, digits and hyphens, with no hyphen at either end.
[[nodiscard]] Status validate_node_id(std::string_view id);
/// An IPv4 address, an IPv6 address without brackets or zone, or a host name (RFC 1123).
[[nodiscard]] Status validate_address(std::string_view address);
/// host:port or [v6]:port, with a host that validate_address accepts. So it can contain nothing
/// that ends a line or a header.
[[nodiscard]] Status validate_endpoint(std::string_view endpoint);
[[nodiscard]] Status validate_port(std::uint32_t port);
/// 8-4-4-4-12 hexadecimal digits.
[[nodiscard]] Status validate_generation(std::string_view uuid);
/// 1 to 63 lower-case ASCII letters, digits and hyphens; begins with a letter, ends with no
/// hyphen.
[[nodiscard]] Status validate_service(std::string_view service);
/// A tag's key: 1 to 63 ASCII letters, digits and . _ - /, with a letter or digit at either end.
[[nodiscard]] Status validate_tag_key(std::string_view key);
/// A tag's value: at most 255 bytes of UTF-8 without control characters.
[[nodiscard]] Status validate_tag_value(std::string_view key, std::string_view value);
/// Also that there are no more than kTagsMax, with kTagBytesMax in all.
[[nodiscard]] Status validate(const Tags& tags);
/// The states that a node may report: none, ACTIVE, JOINING or DRAINING.
[[nodiscard]] Status validate_reported_state(NodeState state);
[[nodiscard]] Status validate(const NodeSpec& node);
[[nodiscard]] Status validate(const RingConfig& ring);

/// No node may have more virtual nodes than HashRing::kVirtualNodesMax: its weight times the ring's
/// number per node.
[[nodiscard]] Status validate_virtual_nodes(std::uint32_t weight,
                                            std::uint32_t virtual_nodes_per_physical);

[[nodiscard]] bool is_ipv4(std::string_view text);
[[nodiscard]] bool is_ipv6(std::string_view text);
[[nodiscard]] bool is_hostname(std::string_view text);

}  // namespace muster::membership
