#pragma once

#include <memory>
#include <string>
#include <utility>

namespace muster::rpc {

/// The bytes of one message. Shared, so that a message to many clients is made once.
using Payload = std::shared_ptr<const std::string>;
[[nodiscard]] inline Payload payload(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace muster::rpc
