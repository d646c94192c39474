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

/// All commands that change the shared state of the servers. The leader proposes a command; it
/// becomes part of a log entry, and every server applies it with the same result. `unknown` holds
/// fields of a newer server.

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

/// A server announces its address and what it supports. A repeated announcement replaces the
/// earlier one.
struct AnnounceServer {
  std::string id;
  std::string address;
  std::string version;
  std::uint64_t level = 1;  ///< The own_level() of that server.
  std::string unknown;
  bool operator==(const AnnounceServer&) const = default;
};

struct ForgetServer {
  std::string id;
  std::string unknown;
  bool operator==(const ForgetServer&) const = default;
};

/// A note for the log of decisions about an event that changes nothing.
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
/// adds a level. Level 2 has SetDrain, level 3 RegisterServiceNode. This program supports all
/// levels up to own_level().
[[nodiscard]] std::uint64_t own_level();
/// The level that a server needs to apply `command`.
[[nodiscard]] std::uint64_t level(const Command& command);

/// Whether a command may be proposed; kInvalid names the field and the rule.
[[nodiscard]] Status validate(const Command& command);

/// The protobuf wire format, as in core/membership/codec.h, with the same guarantees: kCorrupt if
/// damaged, kUnsupported if a newer server wrote a command that this one cannot apply.
[[nodiscard]] std::string encode(const Command& command);
[[nodiscard]] Result<Command> decode(std::string_view bytes);

}  // namespace muster::cluster
