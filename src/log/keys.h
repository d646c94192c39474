#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/log/position.h"

namespace muster::rlog {

/// The prefix of musterd's own log in its engine.
inline constexpr const char* kServerLog = "musterd/";

/// The keys of a log's objects; docs/formats.md has the table.
struct Keys {
  std::string prefix;

  [[nodiscard]] std::string entry(Index index) const;
  /// The common prefix of all entries and the manifest: one watch sees both.
  [[nodiscard]] std::string log() const { return prefix + "log/"; }
  [[nodiscard]] std::string manifest() const { return prefix + "log/manifest"; }
  [[nodiscard]] std::string snapshots() const { return prefix + "snap/"; }
  /// The set `snap/{index}-{epoch}-{nonce}/`.
  [[nodiscard]] std::string snapshot(Index index, Epoch epoch, const Nonce& nonce) const;
  [[nodiscard]] static std::string head(const std::string& set) { return set + "head"; }
  [[nodiscard]] static std::string part(const std::string& set, std::size_t number);

  /// Nothing for the manifest and for unknown keys.
  [[nodiscard]] std::optional<Index> entry_of(const std::string& key) const;
  /// The set to which a part or a head belongs, and the index in its name.
  struct Set {
    std::string name;
    Index index;
  };
  [[nodiscard]] std::optional<Set> set_of(const std::string& key) const;
};

}  // namespace muster::rlog
