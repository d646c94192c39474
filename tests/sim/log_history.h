#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "log/replicated_log.h"

namespace muster::sim {

/// What happened to a log, as nobody in it can see: which entry was applied for each number by
/// whichever was first, and what the clients of each command were told. It knows what must never
/// be.
class History {
 public:
  explicit History(std::function<void(std::string)> violate) : violate_(std::move(violate)) {}

  struct Applied {
    Epoch epoch;
    std::string incarnation;
    std::vector<std::string> commands;
    bool operator==(const Applied&) const = default;
  };

  /// A replica that was at `last` applies an entry.
  void applied(std::uint64_t last, const rlog::AcceptedEntry& entry);
  /// A replica has loaded this state from a snapshot.
  void loaded(std::uint64_t last, const std::vector<std::string>& commands);

  void acknowledged(const std::string& command, const rlog::Ack& ack);
  /// FAILED, or refused without being sent.
  void denied(const std::string& command);
  /// The highest number acknowledged so far.
  [[nodiscard]] std::uint64_t acknowledged_up_to() const { return acknowledged_up_to_; }
  /// A linearizable read that was asked for when `at_least` was acknowledged.
  void read(std::uint64_t at_least, std::uint64_t index);
  /// Every acknowledged command must be in this state.
  void holds_everything(const std::string& who, const std::vector<std::string>& commands);

 private:
  void check_neighbours(std::uint64_t index, const Applied& entry);

  std::function<void(std::string)> violate_;
  std::map<std::uint64_t, Applied> entries_;
  std::map<std::string, std::uint64_t> where_;  ///< Of each command applied.
  std::set<std::string> acknowledged_;
  std::set<std::string> denied_;
  std::uint64_t acknowledged_up_to_ = 0;
};

/// The state of one replica: every command, in order. Tells the history of all it applies.
class LoggedState final : public rlog::StateMachine {
 public:
  explicit LoggedState(History& history) : history_(history) {}

  Status apply(const rlog::AcceptedEntry& entry) override;
  std::unique_ptr<rlog::SnapshotReader> snapshot() override;
  std::unique_ptr<rlog::SnapshotLoader> load() override;

  [[nodiscard]] const std::vector<std::string>& commands() const { return commands_; }

 private:
  class Image;
  class Loader;

  History& history_;
  std::uint64_t last_ = 0;
  std::vector<std::string> commands_;
};

}  // namespace muster::sim
