#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/net/address.h"

namespace muster {

/// Whether a request in plaintext, received at `listening`, names this machine in its Host header.
/// A web page whose name was made to lead to this machine ("DNS rebinding") sends that name, and
/// must not read what is answered here. kDenied with one sentence otherwise.
///
/// A request without the header is allowed: no browser sends one. At a loopback address only
/// localhost and loopback addresses name this machine. At any other address, every numeric address
/// does, `own_name`, and the name in `listening`.
[[nodiscard]] Status check_host(std::string_view header, const Address& listening,
                                std::string_view own_name);

}  // namespace muster
