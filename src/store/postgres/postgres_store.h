#pragma once

#include <memory>

#include "platform/event_loop.h"
#include "platform/pki/tls_files.h"
#include "store/store.h"
#include "store/url.h"

namespace muster {

struct PostgresOptions {
  TlsFiles tls{};                    ///< Default for addresses that say nothing about TLS.
  bool stop_when_gone_back = false;  ///< See StoreOptions.
  bool tls13_only = false;           ///< See StoreOptions.
};

/// The store at postgres://[user@]h1:5432,h2/database?prefix=app: the rows of the table
/// muster.objects (docs/postgres.md), with every condition in one statement. Of several hosts, the
/// one that accepts writes is used. Other options, passwords and TLS are libpq's.
///
/// Guarantees: reads are of the primary. It supports watch, guarded put, conditional remove and one
/// order of all writes. Watches hear of changes by LISTEN, and look themselves where a pooler
/// swallows it. If another database or an earlier copy of this one answers, or a standby was
/// promoted, which may have lost the last writes, the call that detects it fails, history() rises
/// and every watch is reset; with `stop_when_gone_back` every call is kCorrupt instead.
///
/// Opens without a connection. Returns kInvalid if the address is invalid, kUnsupported if libpq is
/// not installed.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_postgres_store(
    const Url& url, const PostgresOptions& options, EventLoop& loop);

}  // namespace muster
