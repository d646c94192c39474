#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "rpc/code.h"

namespace muster::rpc {

/// How a call ended, as its caller hears it.
struct RpcStatus {
  Code code = Code::kOk;
  std::string message{};
  /// Told in the trailing metadata `leader-address`: ask there.
  std::string leader_address{};
  /// Told in the trailing metadata `retry-after`, in whole seconds: ask again then.
  Duration retry_after{0};
  /// Told in the trailing metadata `node-replaced`: another process has this one's place.
  bool replaced = false;

  [[nodiscard]] bool ok() const { return code == Code::kOk; }
};

/// The one place where our errors become gRPC's. kConflict is FAILED_PRECONDITION here; a service
/// that means something else by it says so itself.
[[nodiscard]] RpcStatus to_status(const Error& error);

/// And back, for what another server answered; `status` is not OK.
[[nodiscard]] Error to_error(const RpcStatus& status);

}  // namespace muster::rpc
