#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "rpc/code.h"

namespace muster::rpc {

/// The outcome of a call for its caller.
struct RpcStatus {
  Code code = Code::kOk;
  std::string message{};
  /// Sent in the trailing metadata `leader-address`: ask there.
  std::string leader_address{};
  /// Sent in the trailing metadata `retry-after`, in whole seconds: retry then.
  Duration retry_after{0};
  /// Sent in the trailing metadata `node-replaced`: another process has registered this node.
  bool replaced = false;

  [[nodiscard]] bool ok() const { return code == Code::kOk; }
};

/// The code's name in gRPC, such as UNAVAILABLE.
[[nodiscard]] const char* to_string(Code code);

/// The one place that converts errors to gRPC's. kConflict is FAILED_PRECONDITION here; a service
/// for which it means something else converts it itself.
[[nodiscard]] RpcStatus to_status(const Error& error);

/// The reverse, for another server's answer. Requires: `status` is not OK.
[[nodiscard]] Error to_error(const RpcStatus& status);

}  // namespace muster::rpc
