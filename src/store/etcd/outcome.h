#pragma once

#include <string>

#include "store/remote/outcome.h"

namespace muster::etcd {

using remote::Outcome;
using remote::Reaction;
using remote::Stage;

/// Reads etcd's answer to a request that failed: `code` is the gRPC status code, `message` its
/// text. A write that may have been performed is never reported as anything but kAmbiguous, and
/// is never sent again. Pure.
[[nodiscard]] Outcome judge(int code, const std::string& message, Stage stage);

}  // namespace muster::etcd
