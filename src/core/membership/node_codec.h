#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "core/membership/calendar.h"
#include "core/membership/node.h"
#include "core/membership/wire.h"

namespace muster::membership {

/// Nodes as bytes. Fields 1 to 9 have the numbers of NodeInfo in the wire contract. A registration
/// and an entry share one numbering, so that an unknown field can move from the one to the other.
/// The readers return false on damaged input.

void write(WireWriter& out, const NodeSpec& node);
void write(WireWriter& out, const NodeEntry& node);
void write(WireWriter& out, const Departed& node);
void write(WireWriter& out, const RingConfig& ring);
/// Writes nothing if it has no marks.
void write(WireWriter& out, std::uint32_t field, const Calendar& calendar);
/// One of Topology::drains().
void write_drain(WireWriter& out, const NodeId& id, TopologyVersion version);

[[nodiscard]] bool read(std::string_view bytes, NodeSpec& node);
[[nodiscard]] bool read(std::string_view bytes, NodeEntry& node);
[[nodiscard]] bool read(std::string_view bytes, Departed& node);
[[nodiscard]] bool read(std::string_view bytes, RingConfig& ring);
[[nodiscard]] bool read(std::string_view bytes, Calendar& calendar);
/// Also false if the node is among them already.
[[nodiscard]] bool read_drain(std::string_view bytes, std::map<NodeId, TopologyVersion>& drains);

}  // namespace muster::membership
