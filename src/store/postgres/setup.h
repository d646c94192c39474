#pragma once

#include <memory>
#include <string>
#include <vector>

#include "platform/event_loop.h"
#include "platform/pki/tls_files.h"
#include "store/store.h"
#include "store/url.h"

namespace muster::postgres {

/// The statements that make muster.objects, as in packaging/postgres/muster.sql. Each may be run
/// any number of times.
[[nodiscard]] std::vector<std::string> schema_statements();
/// All privileges that `role` needs.
[[nodiscard]] std::vector<std::string> grant_statements(const std::string& role);

/// Makes the table in the database of an address, and lets a role use it. It changes no table that
/// is there; one that is not as Muster makes it is kInvalid. Threads: loop thread only. The
/// destructor cancels it.
class Setup {
 public:
  virtual ~Setup() = default;
  /// `role` may be empty: no privileges are given. Call once. Returns kDenied or kInvalid and what
  /// is missing; a statement that was refused changed nothing.
  virtual void start(std::string role, Deadline by, Callback<Done> done) = 0;
};

/// Returns kInvalid if the address is invalid, kUnsupported if libpq is not installed.
[[nodiscard]] Result<std::unique_ptr<Setup>> open_setup(const Url& url, const TlsFiles& tls,
                                                        EventLoop& loop);

}  // namespace muster::postgres
