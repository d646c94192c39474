#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "cli/commands_file.h"

// Whatever is accepted is a tree that can be supervised: names differ, each has something to start,
// and no grace is longer than the lease leaves.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string yaml(reinterpret_cast<const char*>(data), size);
  const auto file = cli::parse_commands(yaml, 5s);
  if (!file) {
    MUSTER_CHECK(file.is(Errc::kInvalid) && !file.error().message.empty());
    return 0;
  }
  MUSTER_CHECK(!file->children.empty());
  for (const ChildSpec& child : file->children) {
    MUSTER_CHECK(!child.name.empty());
    const auto* command = std::get_if<Command>(&child.work);
    MUSTER_CHECK(command != nullptr && !command->argv.empty());
  }
  return 0;
}
