#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "store/url.h"

/// Any bytes are an address or a sentence; a password shows up in neither.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto url = muster::Url::parse(text);
  if (!url) {
    MUSTER_CHECK(url.code() == muster::Errc::kInvalid && !url.error().message.empty());
    return 0;
  }
  if (url->password.size() < 4) return 0;
  // What is also written elsewhere in the address is no secret.
  std::string shown = url->scheme + "://" + url->path;
  for (const std::string& host : url->hosts) shown += "," + host;
  shown += "/" + url->path;
  if (shown.find(url->password) != std::string::npos) return 0;
  MUSTER_CHECK(url->redacted().find(url->password) == std::string::npos);
  return 0;
}
