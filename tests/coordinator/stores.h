#pragma once

#include <string>
#include <vector>

namespace muster {

/// The stores that a coordinator is tested on: "s3" (radosgw), "file", "etcd" (three members),
/// "muster" (three servers), "postgres" (one server).
[[nodiscard]] const std::vector<std::string>& store_kinds();

/// The address of an empty place in the store of that kind, which is started at the first call
/// and ends with this program. Main thread.
[[nodiscard]] std::string fresh_store(const std::string& kind);

}  // namespace muster
