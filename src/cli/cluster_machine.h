#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/cluster/cluster_state.h"
#include "core/cluster/snapshot.h"
#include "log/replicated_log.h"

namespace muster::cli {

/// The servers' state for a command that works on their log without a server: it follows the log,
/// and nothing asks it anything. Loop thread only.
class ClusterMachine final : public rlog::StateMachine {
 public:
  Status apply(const rlog::AcceptedEntry& entry) override {
    for (std::size_t i = 0; i < entry.commands.size(); ++i) {
      const auto applied = state_.apply(entry.commands[i], {entry.index.value(), i, entry.time});
      if (!applied) return applied.error();
    }
    return Done{};
  }
  std::unique_ptr<rlog::SnapshotReader> snapshot() override {
    return std::make_unique<Reader>(state_);
  }
  std::unique_ptr<rlog::SnapshotLoader> load() override { return std::make_unique<Loader>(state_); }

 private:
  class Reader final : public rlog::SnapshotReader {
   public:
    explicit Reader(cluster::ClusterState& state) : parts_(state) {}
    std::optional<std::string> next_part() override { return parts_.next(); }

   private:
    cluster::SnapshotParts parts_;
  };
  class Loader final : public rlog::SnapshotLoader {
   public:
    explicit Loader(cluster::ClusterState& state) : state_(state) {}
    Status part(std::string_view bytes) override { return assembler_.add(bytes); }
    Status finish() override {
      auto loaded = assembler_.finish();
      if (!loaded) return loaded.error();
      state_ = std::move(*loaded);
      return Done{};
    }

   private:
    cluster::ClusterState& state_;
    cluster::SnapshotAssembler assembler_;
  };

  cluster::ClusterState state_;
};

}  // namespace muster::cli
