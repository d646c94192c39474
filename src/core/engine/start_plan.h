#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/members.h"

namespace muster::engine {

/// The answer at a peer's address.
struct PeerView {
  enum class Kind {
    kSilent,   ///< None, or nonsense.
    kWaiting,  ///< Its musterd: it has no data either, and waits.
    kMember,   ///< Its engine runs and lists `members`.
  };
  Kind kind = Kind::kSilent;
  std::string name{};    ///< With kWaiting: its name, ...
  bool saw_all = false;  ///< ... and whether it has seen all of its peers without data.
  Members members{};
};

/// A musterd's knowledge before it starts its engine.
struct StartSight {
  std::string name;
  std::string peer_url;
  /// The first members by name, including this one; empty for a server that joins.
  std::map<std::string, std::string> peer_urls;
  bool has_data = false;
  bool saw_all = false;  ///< sees_all() was true once in this process.
  /// Of the others, by name; empty for a server that joins and knows only the servers to ask.
  std::map<std::string, PeerView> views;
};

struct StartPlan {
  enum class Step {
    kRestart,    ///< On the existing data.
    kBootstrap,  ///< As one of a new cluster of peer_urls.
    kJoin,       ///< As the newest of `members`.
    kAsk,        ///< Ask for admission first; `contacts` may grant it, if any are known.
    kWait,       ///< Check again; `words` says what for.
  };
  Step step;
  Members members{};
  std::vector<std::string> contacts{};
  std::string words{};
};

/// True if every other peer is present and has no data either.
[[nodiscard]] bool sees_all(const StartSight& sight);

/// Decides how to start. The danger is a member that lost its data: if it started as in a new
/// cluster, it would vote as if it had never promised anything, and acknowledged writes could be
/// lost. So only a server that has seen all of its peers without data takes part in founding a
/// cluster: nothing had been promised then, and it has promised nothing since. The first one begins
/// when all others have seen the same, so that they can follow. A server that comes later is
/// admitted by the others, even if it is listed as one that has never been up: a member that has
/// just started lists what it knew long ago.
[[nodiscard]] StartPlan plan_start(const StartSight& sight);

}  // namespace muster::engine
