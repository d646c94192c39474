#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "core/cluster/decision.h"
#include "core/cluster/versioned_kv.h"
#include "core/membership/commands.h"

namespace muster::cluster {

/// Everything that changes what the servers of a cluster share. A command is proposed by the
/// leader, becomes part of an entry of the log, and is applied by every server with the same
/// result. `unknown` holds fields that a newer server wrote.

struct ChangeTopology {
  membership::Command command;
  membership::Reason reason{};
  bool operator==(const ChangeTopology&) const = default;
};

struct StoreGuard {
  std::string key;
  KvCondition when;
  bool operator==(const StoreGuard&) const = default;
};

struct StorePut {
  std::string key;
  std::string value;
  KvCondition when;
  std::optional<StoreGuard> guard;
  std::string unknown;
  bool operator==(const StorePut&) const = default;
};

struct StoreRemove {
  std::string key;
  KvCondition when;
  std::string unknown;
  bool operator==(const StoreRemove&) const = default;
};

/// A server says where it is reached and what it understands. Said again, it replaces what was said
/// before.
struct AnnounceServer {
  std::string id;
  std::string address;
  std::string version;
  std::uint64_t level = 1;  ///< As own_level() of that server.
  std::string unknown;
  bool operator==(const AnnounceServer&) const = default;
};

struct ForgetServer {
  std::string id;
  std::string unknown;
  bool operator==(const ForgetServer&) const = default;
};

/// Something that the leader did or met and that changes nothing: it is for the log of decisions.
struct Note {
  DecisionKind kind = DecisionKind::kUnknown;
  std::string subject;
  Why why = Why::kUnknown;
  std::string detail;
  std::string asked_by;
  std::string unknown;
  bool operator==(const Note&) const = default;
};

/// The position of a kind is its number in stored bytes: new kinds are added at the end, and none
/// is ever removed.
using Command =
    std::variant<ChangeTopology, StorePut, StoreRemove, AnnounceServer, ForgetServer, Note>;

/// "StorePut" …, for people and metrics.
[[nodiscard]] const char* name(const Command& command);

/// Kinds of commands come in levels: the first release has level 1, and a release that adds kinds
/// adds a level. Level 2 has SetDrain. This one understands all levels up to own_level().
[[nodiscard]] std::uint64_t own_level();
/// What a server must understand to apply `command`.
[[nodiscard]] std::uint64_t level(const Command& command);

/// Whether a command may be proposed; kInvalid names the field and the rule.
[[nodiscard]] Status validate(const Command& command);

/// In the protobuf wire format, as core/membership/codec.h, with the same promises: kCorrupt when
/// damaged, kUnsupported when a newer server wrote what this one cannot apply.
[[nodiscard]] std::string encode(const Command& command);
[[nodiscard]] Result<Command> decode(std::string_view bytes);

}  // namespace muster::cluster
