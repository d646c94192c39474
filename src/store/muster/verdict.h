#pragma once

#include "rpc/channel.h"
#include "store/remote/verdict.h"

namespace muster::musterd {

/// Classifies a failed request to musterd. Only an answer in a server's own name, by its metadata
/// `muster-server`, shows that nothing was done: a proxy may also answer UNAVAILABLE, after it has
/// forwarded the request. A write that may have been performed is always kAmbiguous, and is never
/// sent again. Pure.
[[nodiscard]] remote::Verdict judge(const rpc::Outcome& outcome, remote::Access access);

}  // namespace muster::musterd
