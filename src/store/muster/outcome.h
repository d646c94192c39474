#pragma once

#include <string>

#include "store/remote/outcome.h"

namespace muster::musterd {

/// What a failed request of musterd came back with.
struct Failure {
  int code;             ///< The gRPC status code.
  std::string message;  ///< Its text.
  std::string leader;   ///< The trailing metadata `leader-address`, if there is any.
  bool spoken = false;  ///< A server said so itself, by its metadata `muster-server`: no network.
};

/// Reads musterd's answer to a request that failed. A write that may have been performed is never
/// reported as anything but kAmbiguous, and is never sent again. Pure.
[[nodiscard]] remote::Outcome judge(const Failure& failure, remote::Stage stage);

}  // namespace muster::musterd
