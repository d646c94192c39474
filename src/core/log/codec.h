#pragma once

#include <cstdint>

#include "core/log/position.h"
#include "core/membership/wire.h"

// Helpers shared by the log's formats.
namespace muster::rlog {

using membership::WireReader;
using membership::WireWriter;

inline constexpr std::uint64_t kFormatVersion = 1;

/// The current field; a fault if it is not 32 bytes long.
[[nodiscard]] Digest read_digest(WireReader& reader);
[[nodiscard]] Seal read_seal(WireReader& reader);
void write_seal(WireWriter& writer, std::uint32_t field, const Seal& seal);

}  // namespace muster::rlog
