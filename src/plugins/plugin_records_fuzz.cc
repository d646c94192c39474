#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "coordinator/fenced_store.h"
#include "plugins/counter_records.h"
#include "plugins/queue_records.h"
#include "plugins/run_record.h"
#include "plugins/ttl.h"

namespace {

/// What is accepted is written and read again as it was.
template <typename Decode, typename Encode>
void look(std::string_view body, Decode decode, Encode encode) {
  const auto record = decode(body);
  if (!record) {
    MUSTER_CHECK(!record.error().message.empty());
    return;
  }
  const std::string written = encode(*record);
  const auto again = decode(written);
  MUSTER_CHECK(again && encode(*again) == written);
}

}  // namespace

// The objects of the plugins, and names of objects: a writer of the store can write them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto with_nonce = [](const auto& record) { return encode(record, "nonce"); };
  look(body, queue::decode_message, with_nonce);
  look(body, queue::decode_claim, with_nonce);
  look(body, queue::decode_board, with_nonce);
  look(body, queue::decode_dead_letter, with_nonce);
  look(body, counters::decode_total, with_nonce);
  look(body, decode_fenced, with_nonce);
  look(body, decode_run_record, [](const RunRecord& record) { return encode(record); });
  (void)is_tombstone(body);
  const counters::Keys keys("shop");
  if (const auto delta = keys.delta_of(keys.deltas + std::string(body))) {
    MUSTER_CHECK(keys.delta_of(keys.delta(*delta)) == delta);
  }
  return 0;
}
