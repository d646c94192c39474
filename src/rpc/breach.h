#pragma once

namespace muster::rpc {

/// Which rule the other side has broken, so that its connection is cut.
enum class Breach {
  kNone,
  kProtocol,     ///< What it sends is not HTTP/2.
  kHeaders,      ///< Headers far longer than is allowed, again and again.
  kResets,       ///< Streams opened and reset, as in a rapid reset attack.
  kEmptyFrames,  ///< Frames that carry nothing: PING, SETTINGS, PRIORITY, empty DATA and the like.
  kUntaken,      ///< It does not take what it is sent, and asks for more.
};
/// For a log and a label of a metric: "protocol", "headers", "resets", "empty-frames", "untaken".
[[nodiscard]] const char* to_string(Breach breach);

}  // namespace muster::rpc
