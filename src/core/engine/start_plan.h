#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/members.h"

namespace muster::engine {

/// What somebody at a peer's address answers.
struct PeerView {
  enum class Kind {
    kSilent,   ///< Nothing, or nothing that makes sense.
    kWaiting,  ///< Its musterd: it has no data either, and starts once it knows how.
    kMember,   ///< Its engine runs and lists `members`.
  };
  Kind kind = Kind::kSilent;
  std::string name{};  ///< With kWaiting: who it says it is.
  Members members{};
};

/// All that a musterd knows before it starts its engine.
struct StartSight {
  std::string name;
  std::string peer_url;
  /// The first members by name, this one included; empty for one that joins.
  std::map<std::string, std::string> peer_urls;
  bool has_data = false;
  /// Of the others, by name; empty for one that joins and knows only whom to ask.
  std::map<std::string, PeerView> views;
};

struct StartPlan {
  enum class Step {
    kRestart,    ///< On the data that is there.
    kBootstrap,  ///< As one of a new cluster of peer_urls.
    kJoin,       ///< As the newest of `members`.
    kAsk,        ///< Ask for admission first; `contacts` may grant it, when any are known here.
    kWait,       ///< Look again; `words` says for what.
  };
  Step step;
  Members members{};
  std::vector<std::string> contacts{};
  std::string words{};
};

/// Decides how to start. The danger is a member that lost its data: if it started as in a new
/// cluster, it would vote as if it had never promised anything, and acknowledged writes could be
/// lost. So a new cluster begins only when all of its members are there and none has any data, or
/// when the others' list says that this one has never been up.
[[nodiscard]] StartPlan plan_start(const StartSight& sight);

}  // namespace muster::engine
