#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "store/s3/answers.h"
#include "store/s3/xml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto root = muster::s3::parse_xml(text);
  if (!root) MUSTER_CHECK(root.is(muster::Errc::kCorrupt));
  const auto page = muster::s3::parse_list(text, "p/");
  if (!root) MUSTER_CHECK(!page.ok());
  // Whatever the answer holds, only a plain word of it may reach a message.
  for (const char c : muster::s3::parse_error_code(text)) {
    MUSTER_CHECK((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
  }
  return 0;
}
