#pragma once

#include <cstddef>
#include <string_view>

#include "base/time.h"
#include "core/limits/client_table.h"
#include "core/limits/token_bucket.h"

namespace muster {

/// A token bucket for each client, in bounded memory. A client is forgotten only when its bucket is
/// full again, so forgetting changes nothing. While all places are taken by clients that are still
/// refilling, newcomers share one bucket: a flood of names slows newcomers down, never known
/// clients, and gains nothing for its sender.
///
/// Requires: clients cannot choose their names: a certificate's identity, or else an address.
/// Threads: one.
class ClientLimiter {
 public:
  struct Options {
    Rate each;
    Rate newcomers;  ///< Shared by all clients without a place.
    std::size_t clients_max = 65'536;
  };

  ClientLimiter(Options options, MonoTime now)
      : options_(options), table_(options.clients_max), newcomers_(options.newcomers, now) {}

  /// The bucket of this client now. Valid until the next call.
  [[nodiscard]] TokenBucket& bucket(std::string_view client, MonoTime now) {
    TokenBucket* own = table_.find_or_add(
        client, [&] { return TokenBucket(options_.each, now); },
        [&](const TokenBucket& oldest) { return oldest.full(now); });
    return own != nullptr ? *own : newcomers_;
  }

  [[nodiscard]] std::size_t clients() const { return table_.size(); }

 private:
  Options options_;
  ClientTable<TokenBucket> table_;
  TokenBucket newcomers_;
};

}  // namespace muster
