#include "coordinator/options.h"

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"
#include "core/election/records.h"

namespace muster {
namespace {

using Json = nlohmann::json;
using Setter = std::function<Status(CoordinatorOptions&, const Json&)>;

Error wrong(const std::string& what) {
  return {Errc::kInvalid, what};
}

// Milliseconds up to a day: larger numbers are seconds mistaken for something else.
template <typename Field>
Setter duration(Field field) {
  return [field](CoordinatorOptions& options, const Json& json) -> Status {
    if (!json.is_number_integer() || json.get<std::int64_t>() < 0 ||
        json.get<std::int64_t>() > 86'400'000) {
      return wrong("must be a whole number of milliseconds from 0 to 86400000");
    }
    field(options) = std::chrono::milliseconds(json.get<std::int64_t>());
    return Done{};
  };
}

template <typename Field>
Setter count(Field field) {
  return [field](CoordinatorOptions& options, const Json& json) -> Status {
    if (!json.is_number_integer() || json.get<std::int64_t>() < 1 ||
        json.get<std::int64_t>() > 1'000'000) {
      return wrong("must be a whole number from 1 to 1000000");
    }
    using Number = std::remove_reference_t<decltype(field(options))>;
    field(options) = static_cast<Number>(json.get<std::int64_t>());
    return Done{};
  };
}

template <typename Field>
Setter flag(Field field) {
  return [field](CoordinatorOptions& options, const Json& json) -> Status {
    if (!json.is_boolean()) return wrong("must be true or false");
    field(options) = json.get<bool>();
    return Done{};
  };
}

Status set_threshold(CoordinatorOptions& options, const Json& json) {
  if (!json.is_number() || !(json.get<double>() > 0)) return wrong("must be a number above zero");
  options.contention.threshold = json.get<double>();
  return Done{};
}

Status set_worker_id(CoordinatorOptions& options, const Json& json) {
  if (!json.is_string()) return wrong("must be a string");
  options.worker_id = WorkerId(json.get<std::string>());
  return Done{};
}

Status set_pod(CoordinatorOptions& options, const Json& json) {
  if (!json.is_string()) return wrong("must be a string");
  options.pod = json.get<std::string>();
  return Done{};
}

const std::map<std::string, Setter>& setters() {
  using O = CoordinatorOptions;
  static const std::map<std::string, Setter> table = {
      {"enableCoordinator", flag([](O& o) -> bool& { return o.enable_coordinator; })},
      {"heartbeatInterval", duration([](O& o) -> Duration& { return o.heartbeat_interval; })},
      {"heartbeatJitter", duration([](O& o) -> Duration& { return o.heartbeat_jitter; })},
      {"leaseTimeout", duration([](O& o) -> Duration& { return o.lease_timeout; })},
      {"workerTimeout", duration([](O& o) -> Duration& { return o.worker_timeout; })},
      {"startupJitterMin", duration([](O& o) -> Duration& { return o.startup_jitter_min; })},
      {"startupJitterMax", duration([](O& o) -> Duration& { return o.startup_jitter_max; })},
      {"requestTimeout", duration([](O& o) -> Duration& { return o.request_timeout; })},
      {"metricsBufferSize", count([](O& o) -> std::size_t& { return o.metrics_buffer_size; })},
      {"contention.enabled", flag([](O& o) -> bool& { return o.contention.enabled; })},
      {"contention.threshold", set_threshold},
      {"contention.rateLimitMs",
       duration([](O& o) -> Duration& { return o.contention.rate_limit; })},
      {"contentionDetectionEnabled", flag([](O& o) -> bool& { return o.contention.enabled; })},
      {"contentionThreshold", set_threshold},
      {"circuitBreaker.failureThreshold",
       count([](O& o) -> std::uint32_t& { return o.circuit_breaker.failure_threshold; })},
      {"circuitBreaker.resetTimeout",
       duration([](O& o) -> Duration& { return o.circuit_breaker.reset_timeout; })},
      {"circuitBreaker.halfOpenMaxAttempts",
       count([](O& o) -> std::uint32_t& { return o.circuit_breaker.half_open_max_attempts; })},
      {"epochFencingEnabled", flag([](O& o) -> bool& { return o.epoch_fencing.enabled; })},
      {"epochGracePeriodMs", duration([](O& o) -> Duration& { return o.epoch_fencing.grace; })},
      {"workerId", set_worker_id},
      {"pod", set_pod},
  };
  return table;
}

Status apply(CoordinatorOptions& options, const std::string& name, const Json& value) {
  const auto it = setters().find(name);
  if (it != setters().end()) {
    if (Status status = it->second(options, value); !status) {
      return wrong("the option " + name + " " + status.error().message);
    }
    return Done{};
  }
  if (value.is_object()) {
    for (const auto& [inner, inner_value] : value.items()) {
      if (Status status = apply(options, name + "." + inner, inner_value); !status) return status;
    }
    return Done{};
  }
  std::vector<std::string> known;
  for (const auto& [option, setter] : setters()) known.push_back(option);
  const std::string near = nearest(name, known);
  return wrong("unknown option " + name + (near.empty() ? "" : "; did you mean " + near + "?"));
}

}  // namespace

Result<CoordinatorOptions> CoordinatorOptions::from_json(std::string_view json) {
  const Json parsed = Json::parse(json, nullptr, false);
  if (!parsed.is_object()) return wrong("coordinator options must be a JSON object");
  CoordinatorOptions options;
  for (const auto& [name, value] : parsed.items()) {
    if (Status status = apply(options, name, value); !status) return status.error();
  }
  return options;
}

LeaseTimings CoordinatorOptions::timings() const {
  LeaseTimings timings = LeaseTimings::for_lease(lease_timeout, heartbeat_interval);
  if (request_timeout > Duration(0)) timings.request_timeout = request_timeout;
  return timings;
}

Status CoordinatorOptions::validate() const {
  if (Status status = timings().validate(); !status) return status;
  const Duration least =
      worker_timeout_min(heartbeat_interval, heartbeat_jitter, timings().request_timeout);
  if (Status s = validate_worker_timeout("workerTimeout", worker_timeout, least); !s) return s;
  if (startup_jitter_max < startup_jitter_min) {
    return wrong("startupJitterMax must not be below startupJitterMin");
  }
  if (metrics_buffer_size == 0) return wrong("metricsBufferSize must be above zero");
  if (!(contention.threshold > 0)) return wrong("contention.threshold must be above zero");
  if (circuit_breaker.failure_threshold == 0 || circuit_breaker.half_open_max_attempts == 0) {
    return wrong("circuitBreaker.failureThreshold and halfOpenMaxAttempts must be above zero");
  }
  if (!worker_id.value().empty()) return validate_name("worker id", worker_id.value());
  return Done{};
}

}  // namespace muster
