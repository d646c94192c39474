#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "platform/http/message.h"

// What arrives on a connection, whole and byte by byte: both ways the same requests come out, none
// holds what ends a line, and bytes are only ever taken off the front.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::http;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const auto read = [](std::string& bytes, std::string& seen) {
    for (;;) {
      const std::size_t before = bytes.size();
      const Parsed parsed = take_request(bytes);
      MUSTER_CHECK(!parsed.request || !parsed.refused);
      if (parsed.refused) {
        MUSTER_CHECK(parsed.refused->status >= 400 && parsed.refused->status < 600);
        seen += "refused " + std::to_string(parsed.refused->status);
        return false;
      }
      if (!parsed.request) return true;
      MUSTER_CHECK(bytes.size() < before);
      const Request& request = *parsed.request;
      for (const std::string* text : {&request.method, &request.path}) {
        MUSTER_CHECK(text->find_first_of("\r\n ") == std::string::npos);
      }
      for (const auto& [name, value] : request.headers) {
        MUSTER_CHECK(value.find_first_of("\r\n") == std::string::npos);
        MUSTER_CHECK(name.find_first_of("\r\nABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos);
      }
      seen += request.method + " " + request.path + (request.keep_alive ? " k\n" : " c\n");
    }
  };
  std::string whole(all), from_whole;
  static_cast<void>(read(whole, from_whole));
  MUSTER_CHECK(all.ends_with(whole));
  // Byte by byte is quadratic in what is refused late.
  if (size > 2048) return 0;
  std::string bytes, from_bytes;
  for (const char byte : all) {
    bytes += byte;
    if (!read(bytes, from_bytes)) break;
  }
  MUSTER_CHECK(from_whole == from_bytes);
  return 0;
}
