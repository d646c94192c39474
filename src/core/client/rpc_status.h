#pragma once

#include <string>

#include "base/result.h"

namespace muster::client {

/// The status codes of gRPC, by their numbers on the wire.
enum class RpcCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// How far a call had come when it ended.
enum class Reach {
  kUnsent,    ///< Not a byte of the request has left: certainly nothing was done.
  kSent,      ///< It left, and no server's word came back.
  kAnswered,  ///< The status is the server's own.
};

/// What kept a request from leaving.
enum class Obstacle {
  kOther,
  kName,           ///< The server's name cannot be resolved.
  kNobodyListens,  ///< At that port.
  kClosed,         ///< The connection was closed before the server said anything.
  kSilent,         ///< The server took the connection and said nothing.
  kNotGrpc,        ///< Somebody else answers. Also of a request that did leave.
  kTls,            ///< The handshake of TLS failed.
  kTurnedAway,     ///< The server ended the connection after the handshake of TLS.
};

/// How one call to one server ended.
struct RpcStatus {
  RpcCode code = RpcCode::kOk;
  std::string message{};
  Reach reach = Reach::kAnswered;
  std::string leader_address{};  ///< The metadata `leader-address`, when the server sent it.
  /// The server says that another process has taken the node's place. Everything else that is
  /// refused leaves the node free to register again.
  bool replaced = false;
  Obstacle obstacle = Obstacle::kOther;

  [[nodiscard]] bool ok() const { return code == RpcCode::kOk; }
};

/// What asking twice does.
enum class Effect {
  kRead,        ///< Nothing.
  kIdempotent,  ///< It changes something, the second time nothing more.
  kOnce,        ///< It may act twice.
};

/// What a failed call tells its caller: one sentence that names the server and what to check. A
/// change that may have happened is kAmbiguous, and nothing else is. `status` is not ok.
[[nodiscard]] Error to_error(const RpcStatus& status, const std::string& server, Effect effect);

}  // namespace muster::client
