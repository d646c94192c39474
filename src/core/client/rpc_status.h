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

/// How far a call got before it ended.
enum class Reach {
  kUnsent,    ///< No byte of the request was sent: certainly nothing was done.
  kSent,      ///< It was sent, and no answer of a server came back.
  kAnswered,  ///< The status is the server's own.
};

/// Why a request was not sent.
enum class Obstacle {
  kOther,
  kName,           ///< The server's name cannot be resolved.
  kNobodyListens,  ///< At that port.
  kClosed,         ///< The connection was closed before the server said anything.
  kSilent,         ///< The server accepted the connection and sent nothing.
  kNotGrpc,        ///< Another program answers. Also for a request that was sent.
  kTls,            ///< The TLS handshake failed.
  kTurnedAway,     ///< The server closed the connection after the TLS handshake.
};

/// The outcome of one call to one server.
struct RpcStatus {
  RpcCode code = RpcCode::kOk;
  std::string message{};
  Reach reach = Reach::kAnswered;
  std::string leader_address{};  ///< The metadata `leader-address`, when the server sent it.
  /// The server says that another process has registered the node. After any other refusal the node
  /// may register again.
  bool replaced = false;
  Obstacle obstacle = Obstacle::kOther;

  [[nodiscard]] bool ok() const { return code == RpcCode::kOk; }
};

/// The effect of a repetition.
enum class Effect {
  kRead,        ///< None.
  kIdempotent,  ///< The second time changes nothing more.
  kOnce,        ///< It may act twice.
};

/// The error for the caller of a failed call: one sentence that names the server and what to check.
/// A change that may have happened is kAmbiguous, nothing else is. Requires: `status` is not ok.
[[nodiscard]] Error to_error(const RpcStatus& status, const std::string& server, Effect effect);

}  // namespace muster::client
