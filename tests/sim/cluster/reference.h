#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/cluster_state.h"
#include "core/log/entry.h"
#include "log/keys.h"
#include "sim/faulty_store.h"
#include "sim/world.h"

namespace muster::sim {

/// One entry of the servers' log, at the moment when it was created in the store.
struct Committed {
  rlog::EntryHeader header;
  TrueTime at{0};
  TrueTime sent{0};           ///< When its leader first sent it: its commands are no younger.
  TrueTime previous_sent{0};  ///< Likewise of the entry before: its commands are no older.
};

/// Who is told what the log holds, in its order.
struct LogListener {
  std::function<void(const Committed& entry)> entry;
  /// After each command was applied to the reference.
  std::function<void(const Committed& entry, const cluster::Command& command,
                     const cluster::Applied& applied)>
      command;
  std::function<void(std::string what)> violate;
};

/// A summary of everything that servers share; equal when that is.
[[nodiscard]] std::uint64_t digest(const cluster::ClusterState& state);

/// The servers' state as the log in the store has it, followed without any server: what all of
/// their copies are compared with. It sees an entry in the very moment in which it is created.
class Reference {
 public:
  Reference(World& world, std::shared_ptr<SharedStore> store, LogListener listener);
  ~Reference();
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  /// A server sends this write.
  void sending(const Key& key, const std::string& body);

  [[nodiscard]] const cluster::ClusterState& state() const { return state_; }
  [[nodiscard]] std::uint64_t index() const { return position_.index.value(); }
  /// The digest of the state after that entry; nothing when there is no such entry.
  [[nodiscard]] std::optional<std::uint64_t> digest_at(std::uint64_t index) const;

  /// Everything that was decided, each with its true time, and without labels by wall clocks.
  [[nodiscard]] const std::vector<std::string>& decided() const { return decided_; }

 private:
  void changed(const MemoryObjects::Change& change);
  void apply(const std::string& body);

  World& world_;
  std::shared_ptr<SharedStore> store_;
  LogListener listener_;
  std::uint64_t subscription_;
  rlog::Keys keys_{rlog::kServerLog};
  bool begun_ = false;
  rlog::Position position_;
  cluster::ClusterState state_;
  std::vector<std::string> decided_;      ///< By number of the decision, less one.
  std::vector<std::uint64_t> digests_;    ///< By index.
  std::map<std::string, TrueTime> sent_;  ///< By body.
  std::vector<TrueTime> sent_at_;         ///< By index.
};

}  // namespace muster::sim
