// The suite on the stores that need no server.
#include <fstream>
#include <sstream>

#include "store/file/layout.h"
#include "tests/support/child_process.h"
#include "tests/support/store_conformance.h"

namespace muster {
namespace store_conformance_test {

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, ::testing::Values(memory_store_factory()));

StoreFactory file_factory() {
  // Gone at exit, with every scope in it.
  auto dir = std::make_shared<TempDir>();
  StoreFactory factory = url_store_factory("file", [dir](const std::string& scope) {
    return "file://" + (dir->path() / scope).string();
  });
  factory.damage = [dir](const std::string& scope, const Key& key, const auto& change) {
    const auto path = dir->path() / scope / file::file_of(key);
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    std::ofstream(path, std::ios::binary | std::ios::trunc) << change(bytes.str());
  };
  return factory;
}

INSTANTIATE_TEST_SUITE_P(File, StoreConformance, ::testing::Values(file_factory()));
INSTANTIATE_TEST_SUITE_P(File, StoreDamageConformance, ::testing::Values(file_factory()));

}  // namespace store_conformance_test
}  // namespace muster
