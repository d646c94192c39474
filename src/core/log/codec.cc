#include "core/log/codec.h"

#include <cstring>

namespace muster::rlog {
namespace {

enum SealField : std::uint32_t { kMoveId = 1, kTarget = 2 };

}  // namespace

Digest read_digest(WireReader& reader) {
  const std::string_view bytes = reader.message();
  Digest digest{};
  if (bytes.size() != digest.size()) {
    reader.fail();
  } else {
    std::memcpy(digest.data(), bytes.data(), digest.size());
  }
  return digest;
}

Seal read_seal(WireReader& outer) {
  Seal seal;
  WireReader reader(outer.message());
  while (reader.next()) {
    if (reader.field() == kMoveId) seal.move_id = reader.text();
    if (reader.field() == kTarget) seal.target = reader.text();
  }
  if (reader.failed() || seal.move_id.empty()) outer.fail();
  return seal;
}

void write_seal(WireWriter& writer, std::uint32_t field, const Seal& seal) {
  WireWriter inner;
  inner.text(kMoveId, seal.move_id);
  inner.text(kTarget, seal.target);
  writer.message(field, inner.bytes());
}

}  // namespace muster::rlog
