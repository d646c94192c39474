#pragma once

#include "rpc/channel.h"
#include "store/remote/verdict.h"

namespace muster::etcd {

using remote::Access;
using remote::Reaction;
using remote::Verdict;

/// Reads how a request to etcd failed. A write that may have been performed is never reported as
/// anything but kAmbiguous, and is never sent again. Pure.
[[nodiscard]] Verdict judge(const rpc::Outcome& outcome, Access access);

}  // namespace muster::etcd
