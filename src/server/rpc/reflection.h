#pragma once

#include <string>
#include <vector>

#include "rpc/call.h"

namespace muster::rpc {

/// Answers one stream of grpc.reflection.v1alpha, if the call is that: which services there are and
/// the descriptors of all that this program was built with. False for another call.
/// `services` are the full names. Loop thread only.
bool answer_reflection(const CallPtr& call, const std::vector<std::string>& services);

}  // namespace muster::rpc
