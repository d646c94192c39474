#include "server/web/build_info.h"

namespace muster::server {

BuildInfo build_info() {
  return {MUSTER_VERSION, MUSTER_COMMIT};
}

}  // namespace muster::server
