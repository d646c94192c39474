// The suite on the stores that need no server.
#include "tests/support/store_conformance.h"
#include "tests/support/child_process.h"

namespace muster {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, ::testing::Values(memory_store_factory()));

StoreFactory file_factory() {
  // Gone at exit, with every scope in it.
  auto dir = std::make_shared<TempDir>();
  return url_store_factory("file", [dir](const std::string& scope) {
    return "file://" + (dir->path() / scope).string();
  });
}

INSTANTIATE_TEST_SUITE_P(File, StoreConformance, ::testing::Values(file_factory()));

}  // namespace
}  // namespace muster
