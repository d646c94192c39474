#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugins/zone_rule.h"

namespace muster {

/// What local clocks show, from the system's time zone database (Debian package tzdata). UTC needs
/// no database. A value that never changes once loaded: an update of tzdata is seen by the next
/// start of the process. Any thread.
class TimeZone {
 public:
  /// UTC.
  TimeZone() = default;
  /// "UTC", or a name such as "Europe/Berlin". kNotFound without such a zone here.
  [[nodiscard]] static Result<TimeZone> load(const std::string& name);
  /// The content of a time zone file (RFC 8536, version 2 or later, without leap seconds).
  [[nodiscard]] static Result<TimeZone> parse(std::string_view file);

  [[nodiscard]] std::chrono::seconds offset_at(std::chrono::sys_seconds t) const {
    return span_at(t).offset;
  }
  /// The earliest instant at which local clocks show `local` or more. So a local time that happens
  /// twice means the first, and one that is skipped means the moment of the shift.
  [[nodiscard]] std::chrono::sys_seconds first_at(std::chrono::local_seconds local) const;

 private:
  struct Transition {
    std::chrono::sys_seconds at;
    std::chrono::seconds offset;
  };
  [[nodiscard]] ZoneSpan span_at(std::chrono::sys_seconds t) const;

  std::chrono::seconds before_{0};       ///< Until the first transition.
  std::vector<Transition> transitions_;  ///< In their order.
  std::optional<ZoneRule> rule_;         ///< From the last transition on.
};

}  // namespace muster
