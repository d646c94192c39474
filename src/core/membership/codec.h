#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/membership/commands.h"
#include "core/membership/topology.h"

namespace muster::membership {

/// Raised only when older servers must not read on. Fields and command kinds are added without it.
inline constexpr std::uint32_t kFormatVersion = 1;
/// An entry of the log holds no more than this either.
inline constexpr std::size_t kCommandBytesMax = 512 * 1024;
inline constexpr std::size_t kSnapshotBytesMax = std::size_t{1} << 30;

/// Commands and snapshots as bytes, in the protobuf wire format. Equal values have equal bytes.
/// Fields of a newer server are kept and written again. Decoding takes any input: kCorrupt when
/// it is damaged or too large, kUnsupported when a newer server wrote what this one cannot apply,
/// which must stop the replica rather than be skipped.
[[nodiscard]] std::string encode(const TimedCommand& command);
[[nodiscard]] Result<TimedCommand> decode_command(std::string_view bytes);

[[nodiscard]] std::string encode_snapshot(const Topology& topology);
[[nodiscard]] Result<Topology> decode_snapshot(std::string_view bytes);

}  // namespace muster::membership
