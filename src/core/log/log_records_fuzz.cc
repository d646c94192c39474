#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "core/log/entry.h"
#include "core/log/manifest.h"

using namespace muster::rlog;

/// Whatever is accepted must return as it was. The digest is put behind the input here, or the
/// fuzzer would never get past it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)decode_entry(bytes).ok();
  std::string body(bytes);
  seal_with_digest(body);
  if (const auto entry = decode_entry(body)) {
    const std::vector<std::string> commands(entry->commands.begin(), entry->commands.end());
    const std::string form = encode_entry(entry->header, commands, entry->seal);
    const auto again = decode_entry(form);
    MUSTER_CHECK(again && encode_entry(again->header, commands, again->seal) == form);
  }
  if (const auto manifest = decode_manifest(body)) {
    const auto again = decode_manifest(encode_manifest(*manifest));
    MUSTER_CHECK(again && *again == *manifest);
  }
  if (const auto head = decode_snapshot_head(bytes)) {
    const auto again = decode_snapshot_head(encode_snapshot_head(*head));
    MUSTER_CHECK(again && *again == *head);
  }
  return 0;
}
