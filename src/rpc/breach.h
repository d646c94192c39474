#pragma once

namespace muster::rpc {

/// The rule that a peer has broken, so that its connection is closed.
enum class Breach {
  kNone,
  kProtocol,     ///< Its data is not HTTP/2.
  kHeaders,      ///< Headers far longer than allowed, again and again.
  kResets,       ///< Streams opened and reset, as in a rapid reset attack.
  kEmptyFrames,  ///< Frames without content: PING, SETTINGS, PRIORITY, empty DATA and others.
  kUntaken,      ///< It does not take its answers, and asks for more.
  kConnections,  ///< It, or all clients together, have as many connections as they may.
};
/// For logs and a metric label: "protocol", "headers", "resets", "empty-frames", "untaken",
/// "connections".
[[nodiscard]] const char* to_string(Breach breach);

}  // namespace muster::rpc
