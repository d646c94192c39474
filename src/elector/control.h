#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "base/random.h"
#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"
#include "store/store.h"

namespace muster {

enum class ControlKind { kStepDown, kTransfer, kPause, kResume };
[[nodiscard]] const char* to_string(ControlKind kind);

/// An operator's command to the leader of one epoch, or, with kResume, to a paused node.
struct ControlCommand {
  std::string id;  ///< Never used before.
  ControlKind kind = ControlKind::kStepDown;
  Epoch epoch;  ///< Step-down, transfer and pause apply only to the term with this epoch.
  /// kTransfer: the next leader. kResume: the worker to resume, or every paused one if empty.
  std::optional<WorkerId> worker;
  WallTime issued_at{};
  bool operator==(const ControlCommand&) const = default;
};
struct ControlAck {
  std::string id;
  WorkerId by;
  WallTime at{};
  bool operator==(const ControlAck&) const = default;
};
/// The content of `control.json`, beside `state.json`: the last command, and its acknowledgement.
struct ControlRecord {
  ControlCommand command;
  std::optional<ControlAck> ack;
  bool operator==(const ControlRecord&) const = default;
};

/// `previous` is the body to be replaced; its unknown fields are kept.
[[nodiscard]] std::string encode(const ControlRecord& record, std::string_view previous = {});
/// Returns kCorrupt with the reason if the body is not a record.
[[nodiscard]] Result<ControlRecord> decode_control(std::string_view body);

/// Replaces the last command by compare-and-swap. kConflict: another process wrote at the same
/// time. Its acknowledgement shows whether the command was obeyed.
void write_control(ObjectStore& store, const Key& key, const ControlCommand& command, Deadline by,
                   Callback<Done> done);

/// Reads `control.json` for a node: offers each new command once, and acknowledges accepted ones
/// until the acknowledgement has landed. A command is judged when it is first seen; a refused
/// command stays refused. Threads: loop thread only.
class ControlReader {
 public:
  struct Hooks {
    /// Whether the command is for this node, now. If so, obey later: the reply goes first.
    std::function<bool(const ControlCommand&)> offer;
    std::function<void(const ControlCommand&)> accepted;
    std::function<void(const Error&)> on_error;  ///< The store failed; the next read may succeed.
    std::function<void(const Error&)> on_bad;    ///< The content is not a command.
  };
  ControlReader(Loop& loop, ObjectStore& store, Key key, WorkerId self, Duration request_timeout,
                Hooks hooks);

  /// Starts one conditional read, unless one is under way.
  void look();
  /// A list has shown `control.json` at this revision: reads it if the revision is new.
  void listed(const Revision& revision);
  /// An acknowledgement has not landed yet: keep calling look().
  [[nodiscard]] bool owes() const { return owed_.has_value(); }

 private:
  void read(Result<Object> object);
  void acknowledge(ControlRecord record, const Object& seen);

  Loop& loop_;
  ObjectStore& store_;
  Key key_;
  WorkerId self_;
  Duration request_timeout_;
  Hooks hooks_;
  std::optional<Revision> revision_;
  std::string judged_;               ///< The id of the last command that was judged.
  std::optional<std::string> owed_;  ///< The id of a command to be acknowledged.
  bool busy_ = false;
  Lifetime lifetime_;
};

}  // namespace muster
