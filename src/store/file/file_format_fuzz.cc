#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "store/file/format.h"
#include "store/file/journal.h"
#include "store/file/layout.h"

// The files of a directory, which anybody may damage who may write there. What a checksum protects
// is made here, or nothing would get beyond.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::file;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto header = decode_object(bytes)) {
    const std::string_view body = bytes.substr(kObjectHeaderBytes);
    MUSTER_CHECK(encode_object(header->sequence, header->nonce, body) == bytes);
    MUSTER_CHECK(!names_damage(header->revision()));
  }
  const std::string whole = encode_object(1, 2, bytes);
  MUSTER_CHECK(decode_object(whole).ok());
  if (size >= 8) {
    JournalState state{.boot_id = "b"};
    for (const char byte : bytes.substr(0, 8)) {
      state.record_bytes = state.record_bytes << 8 | static_cast<unsigned char>(byte);
    }
    const auto again = decode_state(encode_state(state));
    MUSTER_CHECK(again ? again->record_bytes == state.record_bytes
                       : state.record_bytes > kJournalRecordBytesMax);
  }
  (void)decode_state(bytes).ok();
  if (const auto records = decode_records(bytes)) {
    std::string written;
    for (const JournalRecord& record : *records) written += encode_record(record);
    MUSTER_CHECK(written == bytes);
  }
  if (const auto position = Position::parse(bytes)) {
    const auto again = Position::parse(position->cursor());
    MUSTER_CHECK(again && again->generation == position->generation &&
                 again->sequence == position->sequence);
  }
  // Names of files, and keys: a path leads nowhere but to its own key.
  (void)decode_name(bytes);
  (void)keys_begin_with(bytes);
  const std::string key(bytes);
  if (check_key(key).ok()) {
    const std::string path = path_of(key);
    MUSTER_CHECK(!path.starts_with('/') && path.find("/../") == std::string::npos);
    MUSTER_CHECK(!path.starts_with("../") && !path.ends_with("/..") && path != "..");
    const auto slash = path.rfind('/');
    const auto name = decode_name(slash == std::string::npos ? path : path.substr(slash + 1));
    MUSTER_CHECK(name && key.ends_with(*name));
  }
  return 0;
}
