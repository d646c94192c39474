#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "tests/coordinator/beliefs.h"

namespace muster {

/// What the witnesses (witness.cc) of one schedule have left in their directory.
class EvidenceRoom {
 public:
  explicit EvidenceRoom(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// The first and the last moment of every process that ran, under its epoch.
  [[nodiscard]] std::vector<Claim> claims() const;
  /// The last moment at which any of them was alive.
  [[nodiscard]] std::optional<MonoTime> last_seen() const;
  /// When the first of those started that started after `since`.
  [[nodiscard]] std::optional<MonoTime> started_after(MonoTime since) const;

 private:
  std::filesystem::path directory_;
};

/// Sentences about starts whose epoch is lower than that of an earlier start.
[[nodiscard]] std::vector<std::string> falling_epochs(const std::vector<Claim>& claims);

}  // namespace muster
