#pragma once

#include "core/membership/node.h"

namespace muster::membership {

/// The state table of a node: which state follows which, and why.
///
///   JOINING   first heartbeat → ACTIVE; joining timeout → removed
///   ACTIVE    silence → SUSPECT; drain → DRAINING
///   SUSPECT   heartbeat → ACTIVE; longer silence → DOWN; drain → DRAINING
///   DRAINING  silence → DOWN; the node reports ACTIVE again → ACTIVE
///   DOWN      only a registration with a new generation leads out, to JOINING

/// Whether keys are placed on a node in this state: ACTIVE, and SUSPECT, which is flagged but keeps
/// its place, because moving data for a missed heartbeat costs more than waiting.
[[nodiscard]] bool in_ring(NodeState state);

/// The state after a heartbeat of the right generation that reports `reported`. A node that reports
/// JOINING is alive but not ready and stays JOINING. ACTIVE cancels a drain that the node itself
/// announced, never an operator's. DOWN is final for a generation, because its work may have moved
/// already.
[[nodiscard]] NodeState after_heartbeat(const NodeEntry& node, NodeState reported);

[[nodiscard]] bool may_become_suspect(NodeState state);
[[nodiscard]] bool may_become_down(NodeState state);

}  // namespace muster::membership
