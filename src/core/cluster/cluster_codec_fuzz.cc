#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/cluster/cluster_state.h"
#include "core/cluster/commands.h"
#include "core/cluster/snapshot.h"

using namespace muster::cluster;

namespace {

std::string parts_of(ClusterState& state) {
  std::string bytes;
  SnapshotParts parts(state);
  while (const auto part = parts.next()) bytes += *part;
  return bytes;
}

}  // namespace

/// Whatever is accepted must return as it was, and can be applied.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto command = decode(bytes)) {
    const auto again = decode(encode(*command));
    MUSTER_CHECK(again && *again == *command);
    ClusterState state;
    MUSTER_CHECK(state.apply(bytes, {1, 0, {}}).ok());
  }
  SnapshotAssembler assembler;
  if (!assembler.add(bytes)) return 0;
  auto state = assembler.finish();
  if (!state) return 0;
  const std::string form = parts_of(*state);
  SnapshotAssembler second;
  MUSTER_CHECK(second.add(form).ok());
  auto again = second.finish();
  MUSTER_CHECK(again && parts_of(*again) == form);
  return 0;
}
