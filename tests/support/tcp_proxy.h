#pragma once

#include <list>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "platform/unique_fd.h"

namespace muster {

/// A place on loopback from which bytes are passed on to another port, whatever they mean, and that
/// can be cut: connections stand, new ones are taken, and nothing passes until it is mended. Each
/// direction by itself, as networks do. Any thread.
class TcpProxy {
 public:
  TcpProxy();
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  [[nodiscard]] int port() const { return port_; }
  /// Where new connections go from now on.
  void forward_to(int port) MUSTER_EXCLUDES(mutex_);
  /// `up` is towards the server.
  void cut(bool up, bool down) MUSTER_EXCLUDES(mutex_);
  void mend() { cut(false, false); }

 private:
  /// One direction of one connection.
  struct Flow {
    std::string waiting;  ///< Read and not yet written; at most one read's worth.
    bool ended = false;   ///< Nothing more is to be read.
  };
  struct Connection {
    UniqueFd client;
    UniqueFd server;
    Flow up;
    Flow down;
  };
  struct State {
    int upstream = 0;
    bool up_cut = false;
    bool down_cut = false;
    bool ending = false;
  };

  void run();
  void accept_one(int upstream);
  /// Moves what can be moved; false when the connection is to end.
  static bool move(Flow& flow, int from, int to);
  [[nodiscard]] State state() MUSTER_EXCLUDES(mutex_);
  void wake();

  UniqueFd listener_;
  int port_ = 0;
  UniqueFd wake_;
  Mutex mutex_;
  State state_ MUSTER_GUARDED_BY(mutex_);
  std::list<Connection> connections_;  ///< The thread's.
  std::thread thread_;
};

}  // namespace muster
