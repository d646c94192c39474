#include "rpc/breach.h"

namespace muster::rpc {

const char* to_string(Breach breach) {
  switch (breach) {
    case Breach::kNone:
      return "none";
    case Breach::kProtocol:
      return "protocol";
    case Breach::kHeaders:
      return "headers";
    case Breach::kResets:
      return "resets";
    case Breach::kEmptyFrames:
      return "empty-frames";
    case Breach::kUntaken:
      return "untaken";
    case Breach::kConnections:
      return "connections";
  }
  return "unknown";
}

}  // namespace muster::rpc
