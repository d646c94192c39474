#pragma once

#include <cstdint>

#include "store/postgres/statements.h"
#include "store/store.h"

namespace muster::postgres {

/// What a new connection asks first.
[[nodiscard]] Statement greeting();
struct Greeting {
  std::int64_t version = 0;  ///< As 150004 for 15.4.
  bool standby = false;
  bool read_only = false;
  bool durable = true;  ///< fsync is on.
  bool utf8 = true;
  int process = 0;         ///< That serves the connection. A pooler gives its own number for it.
  bool installed = false;  ///< The table exists.
  Origin origin{};         ///< System and timeline; no timeline on a standby.

  [[nodiscard]] static Result<Greeting> read(const Rows& rows);
};

/// Asks for the settings that decide what an election may rely on.
[[nodiscard]] Statement inspection();
/// What they mean. `hears`: notifications arrive. kDenied if the role lacks a privilege.
[[nodiscard]] Result<StoreInspection> inspected(const Rows& rows, bool hears);

}  // namespace muster::postgres
