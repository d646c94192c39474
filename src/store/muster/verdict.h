#pragma once

#include "rpc/channel.h"
#include "store/remote/verdict.h"

namespace muster::musterd {

/// Reads how a request to musterd failed. Only what a server says in its own name, by its metadata
/// `muster-server`, tells that nothing was done: a proxy on the way answers UNAVAILABLE as well,
/// with the request behind it. A write that may have been performed is never reported as anything
/// but kAmbiguous, and is never sent again. Pure.
[[nodiscard]] remote::Verdict judge(const rpc::Outcome& outcome, remote::Access access);

}  // namespace muster::musterd
