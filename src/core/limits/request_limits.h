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

/// What clients may ask how often.
enum class LimitedCall {
  kHeartbeat,
  kRegister,
  kDeregister,
  kGetTopology,
  kRead,   ///< Of what is stored.
  kWrite,  ///< Any other change; counted for all clients together only.
};

/// PER_MINUTE:BURST, such as 10:5. kInvalid when it is not that.
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
  /// Heartbeats and registrations included. Others leave a fifth of the burst to heartbeats: no
  /// flood of writes makes living nodes look dead.
  Rate all_writes{50'000, 1'000};

  bool operator==(const RequestLimitOptions&) const = default;
  /// kInvalid when nodes that send a heartbeat every `heartbeat_interval` would be refused.
  [[nodiscard]] Status validate(Duration heartbeat_interval) const;
  /// How many nodes may send a heartbeat every `heartbeat_interval`.
  [[nodiscard]] std::uint64_t nodes_max(Duration heartbeat_interval) const;
};

/// How often each client, and all of them together, may ask. A request takes a token of every
/// bucket that concerns it, or of none. Memory is bounded however many clients there are (T24).
/// What was refused for a reason that is not the client's is given back by the caller. Nobody is
/// told apart here: the names are, see ClientLimiter. Pure: told the time; one thread.
class RequestLimits {
 public:
  RequestLimits(const RequestLimitOptions& options, MonoTime now);

  /// Nothing when it may go on; otherwise how long to wait.
  [[nodiscard]] std::optional<Duration> take(LimitedCall call, std::string_view client,
                                             MonoTime now);
  void give_back(LimitedCall call, std::string_view client, MonoTime now);

  /// False when the client has as many as it may, or nobody can be counted any more. Each that was
  /// counted is to be given back once.
  [[nodiscard]] bool open_watch(std::string_view client);
  void close_watch(std::string_view client);
  /// The same for calls of any kind, watches included.
  [[nodiscard]] bool open_call(std::string_view client);
  void close_call(std::string_view client);

  /// Other limits from now on: every bucket begins full, what is open stays counted.
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
  /// The buckets that concern a call; null where there is none.
  [[nodiscard]] std::array<TokenBucket*, 3> concerned(LimitedCall call, std::string_view client,
                                                      MonoTime now);

  RequestLimitOptions options_;
  std::optional<Buckets> buckets_;
  Counts watches_;
  Counts calls_;
};

}  // namespace muster
