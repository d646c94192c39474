#pragma once

#include <string>

#include "platform/unique_fd.h"

namespace muster {

/// Listens on loopback, lets everybody connect, and never says a word.
class SilentServer {
 public:
  SilentServer();
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  UniqueFd listener_;
  int port_ = 0;
};

}  // namespace muster
