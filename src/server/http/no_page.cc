#include "server/http/page.h"

namespace muster::server {

std::span<const PageFile> page_files() {
  return {};
}

}  // namespace muster::server
