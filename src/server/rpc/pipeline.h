#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/short_queue.h"
#include "rpc/call.h"

namespace muster::rpc {

/// Answers every message of a stream, in order, and reads on meanwhile.
///
/// Messages that a busy client sent together are processed together: answers wait until no more
/// input has come, then leave at once. Beyond `ahead_max` unanswered messages the client waits. The
/// stream ends when the client has finished sending and all is answered; a handler that cannot go
/// on finishes the call itself. Loop thread only. Lives as long as the stream and its handlers.
class Pipeline final : public std::enable_shared_from_this<Pipeline> {
 public:
  using Answer = std::function<void(Payload)>;
  /// Calls `answer` once, now or later.
  using Handle = std::function<void(const std::string& message, Answer answer)>;
  struct Options {
    std::size_t ahead_max = 256;
    /// Answers that are ready together leave as one message: their fields, which must all be
    /// repeated, one after another.
    bool merge = false;
  };

  static void run(Loop& loop, CallPtr call, Options options, Handle handle);

  Pipeline(Loop& loop, CallPtr call, Options options, Handle handle);

 private:
  void read();
  void handle(const std::string& message);
  void flush_soon();
  void write();
  /// The answers that are ready, as few messages as may be; null when there is none.
  [[nodiscard]] Payload take();
  [[nodiscard]] bool ready() const { return !answers_.empty() && answers_.front(); }

  CallPtr call_;
  Options options_;
  Handle handle_;
  ShortQueue<Payload> answers_;  ///< Of the messages from `first_` on; null: not known yet.
  std::uint64_t first_ = 0;
  bool reading_ = false;
  bool handling_ = false;
  bool ended_ = false;  ///< The client sends no more.
  bool writing_ = false;
  /// The client sends faster than answers leave, so that these wait for each other.
  bool busy_ = false;
  bool more_came_ = false;  ///< Since it was last looked whether to write.
  Timer flush_;
};

}  // namespace muster::rpc
