#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "elector/control.h"

// control.json, which anybody with access to the store can write: what is accepted returns as it
// was, also when it is written over something else.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto record = decode_control(body);
  if (!record) {
    MUSTER_CHECK(!record.error().message.empty());
    return 0;
  }
  const auto again = decode_control(encode(*record, body));
  MUSTER_CHECK(again && *again == *record);
  return 0;
}
