#include "candidate/candidate_options.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "core/election/records.h"

namespace muster {
namespace {

constexpr std::uint64_t kMillisecondsMax = 86'400'000;

Error wrong(std::string_view name, const std::string& value, const std::string& wanted) {
  return {Errc::kInvalid, std::string(name) + "=\"" + value + "\" " + wanted};
}

Status read_flag(const EnvironmentLookup& lookup, std::string_view name, bool& flag) {
  const std::optional<std::string> value = lookup(name);
  if (!value) return Done{};
  const Result<bool> parsed = parse_bool(*value);
  if (!parsed) return wrong(name, *value, "must be true or false (or 1/0, yes/no, on/off)");
  flag = *parsed;
  return Done{};
}

Status read_milliseconds(const EnvironmentLookup& lookup, std::string_view name,
                         std::uint64_t least, Duration& duration) {
  const std::optional<std::string> value = lookup(name);
  if (!value) return Done{};
  const std::optional<std::uint64_t> number = parse_unsigned(*value);
  if (!number || *number < least || *number > kMillisecondsMax) {
    return wrong(name, *value,
                 "must be a whole number of milliseconds from " + std::to_string(least) + " to " +
                     std::to_string(kMillisecondsMax));
  }
  duration = std::chrono::milliseconds(*number);
  return Done{};
}

// A poller has no way to the data that the work needs.
Status read_node_type(const EnvironmentLookup& lookup, bool& eligible) {
  constexpr std::string_view kName = "COORDINATOR_NODE_TYPE";
  const std::optional<std::string> value = lookup(kName);
  if (!value) return Done{};
  const std::string type = to_lower(*value);
  const bool can = type == "core" || type == "core-elx" || type == "web" || type == "web-ng";
  const bool cannot = type == "poller" || type == "poller-elx";
  if (!can && !cannot) return wrong(kName, *value, "must be core, web or poller");
  eligible = can;
  return Done{};
}

Duration or_else(Duration set, Duration otherwise) {
  return set > Duration(0) ? set : otherwise;
}

}  // namespace

Result<CandidateOptions> CandidateOptions::from_environment(const EnvironmentLookup& lookup) {
  CandidateOptions options;
  bool enabled = true;
  for (const Status& status :
       {read_node_type(lookup, options.eligible),
        read_flag(lookup, "COORDINATOR_ELIGIBLE", options.eligible),
        read_flag(lookup, "coordinator_election_enabled", enabled),
        read_milliseconds(lookup, "COORDINATOR_ELECTION_INTERVAL", 1, options.election_interval),
        read_milliseconds(lookup, "COORDINATOR_TAKEOVER_DELAY", 0, options.takeover_delay)}) {
    if (!status) return status.error();
  }
  options.eligible = options.eligible && enabled;
  return options;
}

CandidateOptions CandidateOptions::filled() const {
  CandidateOptions full = *this;
  full.renew_interval = or_else(renew_interval, lease / 5);
  full.renew_jitter = renew_jitter.value_or(full.renew_interval / 5);
  const LeaseTimings usual = LeaseTimings::for_lease(lease, full.renew_interval);
  full.request_timeout = or_else(request_timeout, usual.request_timeout);
  full.stop_grace = stop_grace.value_or(usual.stop_budget);
  full.kill_margin = or_else(kill_margin, usual.kill_margin);
  const Duration least =
      worker_timeout_min(full.renew_interval, *full.renew_jitter, full.request_timeout);
  full.worker_timeout = or_else(worker_timeout, std::max(lease * 4 / 3, least));
  full.hold_off =
      or_else(hold_off, hold_off_after_step_down(lease, full.renew_interval + *full.renew_jitter));
  full.backoff_min = or_else(backoff_min, lease / 2);
  return full;
}

LeaseTimings CandidateOptions::timings() const {
  const CandidateOptions full = filled();
  LeaseTimings timings;
  timings.terms.lease = lease;
  timings.renew_interval = full.renew_interval;
  timings.request_timeout = full.request_timeout;
  timings.stop_budget = *full.stop_grace;
  timings.kill_margin = full.kill_margin;
  return timings;
}

CandidateConfig CandidateOptions::machine() const {
  const CandidateOptions full = filled();
  CandidateConfig config;
  config.eligible = eligible;
  config.takeover_delay = takeover_delay;
  config.stop_budget = *full.stop_grace;
  config.kill_margin = full.kill_margin;
  config.release_timeout = 2 * full.request_timeout;
  config.hold_off = full.hold_off;
  config.backoff_min = full.backoff_min;
  config.backoff_max = std::max(backoff_max, full.backoff_min);
  config.stable_after = stable_after;
  return config;
}

Status CandidateOptions::validate() const {
  if (Status status = timings().validate(); !status) return status;
  const CandidateOptions full = filled();
  const Duration least =
      worker_timeout_min(full.renew_interval, *full.renew_jitter, full.request_timeout);
  if (Status s = validate_worker_timeout("the worker timeout", full.worker_timeout, least); !s) {
    return s;
  }
  if (election_interval <= Duration(0)) {
    return {Errc::kInvalid, "the election interval must be above zero"};
  }
  if (takeover_delay < Duration(0)) {
    return {Errc::kInvalid, "the takeover delay must not be below zero"};
  }
  if (value.size() > kValueBytesMax || !is_utf8(value)) {
    return {Errc::kInvalid, "the published value must be UTF-8 of at most " +
                                std::to_string(kValueBytesMax) + " bytes"};
  }
  return validate_name("node", node.value());
}

}  // namespace muster
