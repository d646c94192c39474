#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/routing/ring_table.h"
#include "muster/v1/coordinator.pb.h"
#include "server/gateway/json_message.h"

namespace muster::server {

/// Looks up keys in the ring of a topology. The ring of the last topology is kept, because building
/// one hashes every virtual node. Threads: one.
class RingLookup {
 public:
  static constexpr std::size_t kOwnersMax = 64;

  /// The first `most` owners of the key, 0: as many as the replication factor, in the ring of the
  /// nodes of `topology`: those of `service`, or if that is empty, of the services with a type.
  [[nodiscard]] Json owners(const v1::GetTopologyResponse& topology, const std::string& service,
                            const std::string& key, std::size_t most);

 private:
  void build(const v1::GetTopologyResponse& topology, const std::string& service);

  std::string built_of_;  ///< What decides about the ring in use.
  std::vector<std::string> ids_;
  RingTable table_;
};

}  // namespace muster::server
