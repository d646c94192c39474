#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "core/membership/codec.h"

using muster::membership::decode_command;
using muster::membership::decode_snapshot;
using muster::membership::encode;
using muster::membership::encode_snapshot;

/// Whatever is accepted must return as it was.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto command = decode_command(bytes)) {
    const auto again = decode_command(encode(*command));
    MUSTER_CHECK(again && *again == *command);
  }
  if (const auto topology = decode_snapshot(bytes)) {
    const auto form = encode_snapshot(*topology);
    const auto again = decode_snapshot(form);
    MUSTER_CHECK(again && encode_snapshot(*again) == form);
  }
  return 0;
}
