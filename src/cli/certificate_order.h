#pragma once

#include "base/result.h"
#include "base/time.h"
#include "cli/authority.h"
#include "platform/pki/issue.h"

namespace muster::cli {

/// Clocks differ: what is made now counts from this much earlier.
inline constexpr std::chrono::minutes kBackdate{5};

/// What the certificate will say, from what was asked for. kInvalid names the option to change.
[[nodiscard]] Result<pki::CertificateOrder> certificate_order(const IssueOrder& order, WallTime now,
                                                              WallTime authority_expires);

}  // namespace muster::cli
