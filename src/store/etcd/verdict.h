#pragma once

#include "rpc/channel.h"
#include "store/remote/verdict.h"

namespace muster::etcd {

using remote::Access;
using remote::Reaction;
using remote::Verdict;

/// Classifies a failed request to etcd. A write that may have been performed is always kAmbiguous,
/// and is never sent again. Pure.
[[nodiscard]] Verdict judge(const rpc::Outcome& outcome, Access access);

}  // namespace muster::etcd
