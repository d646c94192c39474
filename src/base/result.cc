#include "base/result.h"

namespace muster {

const char* to_string(Errc code) {
  switch (code) {
    case Errc::kNotFound:
      return "not found";
    case Errc::kUnchanged:
      return "unchanged";
    case Errc::kConflict:
      return "conflict";
    case Errc::kAmbiguous:
      return "ambiguous";
    case Errc::kThrottled:
      return "throttled";
    case Errc::kUnavailable:
      return "unavailable";
    case Errc::kDenied:
      return "denied";
    case Errc::kUnsupported:
      return "unsupported";
    case Errc::kInvalid:
      return "invalid";
    case Errc::kCorrupt:
      return "corrupt";
    case Errc::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace muster
