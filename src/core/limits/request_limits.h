#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "core/limits/client_limiter.h"
#include "core/limits/client_table.h"
#include "core/limits/token_bucket.h"

namespace muster {

/// The calls with rate limits.
enum class LimitedCall {
  kHeartbeat,
  kRegister,
  kDeregister,
  kGetTopology,
  kRead,   ///< A read of the store.
  kWrite,  ///< Any other change; only the total of all clients is limited.
};

/// Parses PER_MINUTE:BURST, such as 10:5. kInvalid if it has another form.
[[nodiscard]] Result<Rate> parse_rate(std::string_view text);

struct RequestLimitOptions {
  // Each client.
  Rate heartbeat{10, 5};
  Rate register_node{10, 2};
  Rate deregister{10, 2};
  Rate get_topology{100, 10};
  Rate read{60'000, 2'000};
  std::uint32_t watches = 10;   ///< Open at a time.
  std::uint32_t calls = 1'000;  ///< Likewise, of any kind.
  // All clients together.
  Rate all_heartbeats{10'000, 500};
  Rate all_registers{1'000, 50};
  /// Includes heartbeats and registrations. A fifth of the burst is reserved for heartbeats, so
  /// that no flood of writes makes living nodes look dead.
  Rate all_writes{50'000, 1'000};

  bool operator==(const RequestLimitOptions&) const = default;
  /// kInvalid if nodes with a heartbeat every `heartbeat_interval` would be refused.
  [[nodiscard]] Status validate(Duration heartbeat_interval) const;
  /// The number of nodes that may send a heartbeat every `heartbeat_interval`.
  [[nodiscard]] std::uint64_t nodes_max(Duration heartbeat_interval) const;
};

/// The rate limits of each client, and of all clients together. A request takes a token from every
/// bucket that concerns it, or from none. Memory is bounded for any number of clients (T24). The
/// caller gives back tokens of requests that failed through no fault of the client. The names must
/// identify clients, see ClientLimiter. Pure: the caller passes the time. Threads: one.
class RequestLimits {
 public:
  RequestLimits(const RequestLimitOptions& options, MonoTime now);

  /// Nothing if the request may go on; otherwise the time to wait.
  [[nodiscard]] std::optional<Duration> take(LimitedCall call, std::string_view client,
                                             MonoTime now);
  void give_back(LimitedCall call, std::string_view client, MonoTime now);

  /// False if the client has reached its limit, or no more clients can be counted. Each counted
  /// watch must be given back once.
  [[nodiscard]] bool open_watch(std::string_view client);
  void close_watch(std::string_view client);
  /// Likewise for calls of any kind, including watches.
  [[nodiscard]] bool open_call(std::string_view client);
  void close_call(std::string_view client);

  /// Changes the limits: every bucket begins full, open calls stay counted.
  void use(const RequestLimitOptions& options, MonoTime now);
  [[nodiscard]] const RequestLimitOptions& options() const { return options_; }
  [[nodiscard]] std::uint32_t watches(std::string_view client);

 private:
  struct Buckets {
    Buckets(const RequestLimitOptions& options, MonoTime now);
    std::array<ClientLimiter, 5> each;  ///< By LimitedCall, without kWrite.
    TokenBucket heartbeats;
    TokenBucket registers;
    TokenBucket writes;
  };
  using Counts = ClientTable<std::uint32_t>;
  [[nodiscard]] static bool open(Counts& counts, std::string_view client, std::uint32_t most);
  static void close(Counts& counts, std::string_view client);
  /// The buckets that concern a call; null if there is none.
  [[nodiscard]] std::array<TokenBucket*, 3> concerned(LimitedCall call, std::string_view client,
                                                      MonoTime now);

  RequestLimitOptions options_;
  std::optional<Buckets> buckets_;
  Counts watches_;
  Counts calls_;
};

}  // namespace muster
