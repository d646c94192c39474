// The suite on the stores that need no server.
#include "tests/support/store_conformance.h"

namespace muster {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance, testing::Values(memory_store_factory()));

}  // namespace
}  // namespace muster
