#pragma once

#include <string>

#include "base/strong.h"

namespace muster::server {

/// The leader, as far as this server knows.
struct LeaderView {
  bool self = false;
  std::string id{};       ///< Empty: nobody, or not known.
  std::string address{};  ///< Where its gRPC is reached; empty while it has not said so.
  Epoch epoch{};
};

}  // namespace muster::server
