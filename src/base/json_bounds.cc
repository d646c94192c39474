#include "base/json_bounds.h"

#include <string>

namespace muster {

Status check_json_bounds(std::string_view text) {
  if (text.size() > kJsonBytesMax) {
    return {Errc::kCorrupt,
            "the body is larger than " + std::to_string(kJsonBytesMax >> 20) + " MB"};
  }
  std::size_t depth = 0;
  std::size_t values = 1;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == ',') ++values;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c != '[' && c != '{') continue;
    ++values;
    if (++depth > kJsonDepthMax) {
      return {Errc::kCorrupt,
              "the body nests deeper than " + std::to_string(kJsonDepthMax) + " levels"};
    }
  }
  if (values <= kJsonValuesMax) return Done{};
  return {Errc::kCorrupt, "the body holds more than " + std::to_string(kJsonValuesMax) + " values"};
}

}  // namespace muster
