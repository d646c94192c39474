#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/membership/commands.h"
#include "core/membership/topology.h"

namespace muster::membership {

/// Raised only if older servers must not continue. Fields and kinds are added without raising it.
inline constexpr std::uint32_t kFormatVersion = 1;
/// The maximum size of a command, and of an entry of the log.
inline constexpr std::size_t kCommandBytesMax = 512 * 1024;
inline constexpr std::size_t kSnapshotBytesMax = std::size_t{1} << 30;

/// Commands and snapshots as bytes, in the protobuf wire format. Equal values have equal bytes.
/// Fields of a newer server are kept and written again. Decoding accepts any input: kCorrupt if it
/// is damaged or too large, kUnsupported if a newer server wrote a command that this one cannot
/// apply; that must stop the replica, not be skipped.
[[nodiscard]] std::string encode(const TimedCommand& command);
[[nodiscard]] Result<TimedCommand> decode_command(std::string_view bytes);

[[nodiscard]] std::string encode_snapshot(const Topology& topology);
[[nodiscard]] Result<Topology> decode_snapshot(std::string_view bytes);

}  // namespace muster::membership
