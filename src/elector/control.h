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

/// What somebody wants of the leader of one epoch; of a paused node, with kResume.
struct ControlCommand {
  std::string id;  ///< Never used before.
  ControlKind kind = ControlKind::kStepDown;
  Epoch epoch;  ///< Step-down, transfer and pause are for the term with this epoch and no other.
  /// kTransfer: who should follow. kResume: who should take part again; empty: whoever is paused.
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
/// The content of `control.json`, beside `state.json`: the last command, and who obeyed it.
struct ControlRecord {
  ControlCommand command;
  std::optional<ControlAck> ack;
  bool operator==(const ControlRecord&) const = default;
};

/// `previous` is the body this one replaces: fields that we do not know are kept.
[[nodiscard]] std::string encode(const ControlRecord& record, std::string_view previous = {});
/// kCorrupt says what is wrong.
[[nodiscard]] Result<ControlRecord> decode_control(std::string_view body);

/// Writes a command in the place of the last one, by compare-and-swap. kConflict: somebody else
/// wrote at the same time. Whether it is obeyed is seen in its acknowledgement.
void write_control(ObjectStore& store, const Key& key, const ControlCommand& command, Deadline by,
                   Callback<Done> done);

/// The node's side: looks at `control.json` when told to, offers each new command once, and
/// acknowledges those that were accepted, again and again until that has landed. A command is
/// judged when it is first seen; one that was refused then stays refused. Loop thread only.
class ControlReader {
 public:
  struct Hooks {
    /// Is it for this node, now? If so, obey after returning: the acknowledgement goes first.
    std::function<bool(const ControlCommand&)> offer;
    std::function<void(const ControlCommand&)> accepted;
    std::function<void(const Error&)> on_error;  ///< The store failed; the next look may not.
    std::function<void(const Error&)> on_bad;    ///< What stands there is no command.
  };
  ControlReader(Loop& loop, ObjectStore& store, Key key, WorkerId self, Duration request_timeout,
                Hooks hooks);

  /// One conditional read, unless one is under way.
  void look();
  /// A list has shown `control.json` at this revision: looks if that is another than it knows.
  void listed(const Revision& revision);
  /// An acknowledgement has not landed yet: keep looking.
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
