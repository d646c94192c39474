#include "core/limits/request_limits.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace muster {
namespace {

constexpr std::size_t kClientsMax = 65'536;
/// One part of so many.
constexpr std::uint32_t kKeptForHeartbeats = 5;

/// Clients who find no place share what ten of them would have.
ClientLimiter::Options limiter(Rate each) {
  constexpr std::uint32_t kShared = 10;
  return {each, {each.per_minute * kShared, each.burst * kShared}, kClientsMax};
}

bool too_slow(Rate rate, Duration interval) {
  return Duration(1min) / interval > static_cast<std::int64_t>(rate.per_minute);
}

}  // namespace

Result<Rate> parse_rate(std::string_view text) {
  const auto colon = text.find(':');
  const auto number = [](std::string_view part) {
    const auto value = parse_unsigned(part).value_or(0);
    return value <= TokenBucket::kBurstMax ? static_cast<std::uint32_t>(value) : 0U;
  };
  if (colon != std::string_view::npos) {
    const Rate rate{number(text.substr(0, colon)), number(text.substr(colon + 1))};
    if (rate.per_minute > 0 && rate.burst > 0) return rate;
  }
  return {Errc::kInvalid, "\"" + std::string(text) + "\" is not PER_MINUTE:BURST, such as 10:5"};
}

Status RequestLimitOptions::validate(Duration heartbeat_interval) const {
  if (!too_slow(heartbeat, heartbeat_interval)) return Done{};
  return {Errc::kInvalid, "limits-heartbeat allows a node " + std::to_string(heartbeat.per_minute) +
                              " heartbeats a minute, fewer than heartbeat_interval " +
                              format_duration(heartbeat_interval) + " means; raise one of them"};
}

std::uint64_t RequestLimitOptions::nodes_max(Duration heartbeat_interval) const {
  const std::uint64_t rate = std::min(all_heartbeats.per_minute, all_writes.per_minute);
  return rate * static_cast<std::uint64_t>(heartbeat_interval.count()) /
         static_cast<std::uint64_t>(Duration(1min).count());
}

RequestLimits::Buckets::Buckets(const RequestLimitOptions& options, MonoTime now)
    : each{ClientLimiter(limiter(options.heartbeat), now),
           ClientLimiter(limiter(options.register_node), now),
           ClientLimiter(limiter(options.deregister), now),
           ClientLimiter(limiter(options.get_topology), now),
           ClientLimiter(limiter(options.read), now)},
      heartbeats(options.all_heartbeats, now),
      registers(options.all_registers, now),
      writes(options.all_writes, now) {}

RequestLimits::RequestLimits(const RequestLimitOptions& options, MonoTime now)
    : options_(options), watches_(kClientsMax), calls_(kClientsMax) {
  use(options, now);
}

void RequestLimits::use(const RequestLimitOptions& options, MonoTime now) {
  options_ = options;
  buckets_.emplace(options, now);
}

std::array<TokenBucket*, 3> RequestLimits::concerned(LimitedCall call, std::string_view client,
                                                     MonoTime now) {
  const auto own = [&]() -> TokenBucket* {
    return &buckets_->each[static_cast<std::size_t>(call)].bucket(client, now);
  };
  switch (call) {
    case LimitedCall::kHeartbeat:
      return {own(), &buckets_->heartbeats, &buckets_->writes};
    case LimitedCall::kRegister:
      return {own(), &buckets_->registers, &buckets_->writes};
    case LimitedCall::kDeregister:
      return {own(), nullptr, &buckets_->writes};
    case LimitedCall::kGetTopology:
    case LimitedCall::kRead:
      return {own(), nullptr, nullptr};
    case LimitedCall::kWrite:
      return {nullptr, nullptr, &buckets_->writes};
  }
  return {};
}

std::optional<Duration> RequestLimits::take(LimitedCall call, std::string_view client,
                                            MonoTime now) {
  const auto all = concerned(call, client, now);
  Duration wait{0};
  for (const TokenBucket* each : all) {
    if (each != nullptr) wait = std::max(wait, each->retry_after(now));
  }
  if (call != LimitedCall::kHeartbeat && all[2] != nullptr) {
    const std::uint32_t kept = options_.all_writes.burst / kKeptForHeartbeats;
    wait = std::max(wait, all[2]->retry_after(now, 1 + kept));
  }
  if (wait > Duration(0)) return wait;
  for (TokenBucket* each : all) {
    if (each != nullptr) MUSTER_CHECK(each->try_take(now));
  }
  return std::nullopt;
}

void RequestLimits::give_back(LimitedCall call, std::string_view client, MonoTime now) {
  for (TokenBucket* each : concerned(call, client, now)) {
    if (each != nullptr) each->give_back(now);
  }
}

bool RequestLimits::open(Counts& counts, std::string_view client, std::uint32_t most) {
  std::uint32_t* open = counts.find_or_add(
      client, [] { return 0U; }, [](std::uint32_t count) { return count == 0; });
  if (open == nullptr || *open >= most) return false;
  ++*open;
  return true;
}

void RequestLimits::close(Counts& counts, std::string_view client) {
  std::uint32_t* open = counts.find(client);
  MUSTER_CHECK(open != nullptr && *open > 0);
  if (--*open == 0) counts.erase(client);
}

bool RequestLimits::open_watch(std::string_view client) {
  return open(watches_, client, options_.watches);
}

void RequestLimits::close_watch(std::string_view client) {
  close(watches_, client);
}

bool RequestLimits::open_call(std::string_view client) {
  return open(calls_, client, options_.calls);
}

void RequestLimits::close_call(std::string_view client) {
  close(calls_, client);
}

std::uint32_t RequestLimits::watches(std::string_view client) {
  const std::uint32_t* open = watches_.find(client);
  return open == nullptr ? 0 : *open;
}

}  // namespace muster
