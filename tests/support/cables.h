#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/support/child_process.h"

namespace muster::testing {

/// Hosts that are network namespaces, joined by two networks whose cables can be pulled one by one:
/// `rpc`, which this process is on as well, and `raft`, which it is not. Addresses begin with 127,
/// so that programs take both for loopback.
///
/// Everything lives in a network of this process and goes with it: nothing is left behind, and
/// nothing outside is touched. Needs root, iproute2 and util-linux. One thread.
class Cables {
 public:
  enum class Net { kRpc, kRaft };

  /// Puts this process into a network of its own. Before anything else has threads or sockets.
  [[nodiscard]] static Status enter();

  explicit Cables(int hosts);
  ~Cables();
  Cables(const Cables&) = delete;
  Cables& operator=(const Cables&) = delete;

  [[nodiscard]] std::string address(Net net, int host) const;
  /// The words that start a program on that host, before its own.
  [[nodiscard]] std::vector<std::string> on(int host) const;
  void pull(Net net, int host);
  void plug(Net net, int host);

 private:
  std::vector<std::unique_ptr<ChildProcess>> hosts_;  ///< Each keeps a namespace alive.
};

}  // namespace muster::testing
