#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "core/election/records.h"

// A worker's file, and the two records beside it: other programs write them, too. What is accepted
// returns as it was.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (const auto worker = decode_worker(body)) {
    const auto again = decode_worker(encode(*worker));
    MUSTER_CHECK(again && *again == *worker);
  } else {
    MUSTER_CHECK(!worker.error().message.empty());
  }
  if (const auto state = decode_leader_state(body)) {
    const auto again = decode_leader_state(encode(*state));
    MUSTER_CHECK(again && *again == *state);
  }
  if (const auto metadata = decode_metadata(body)) {
    const auto again = decode_metadata(encode(*metadata));
    MUSTER_CHECK(again && *again == *metadata);
  }
  return 0;
}
