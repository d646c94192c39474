#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "platform/event_loop.h"
#include "platform/resolver.h"
#include "platform/unique_fd.h"

namespace muster::http {

/// Connects to the first of several addresses that accepts. They are tried in turn, families
/// alternating, each a quarter of a second after the one before, or as soon as that has failed; the
/// former go on meanwhile, so that a silent address costs little (RFC 8305). Destroying it breaks
/// off what runs. Loop thread only.
class Dialer {
 public:
  using Connected = std::function<void(Result<UniqueFd>)>;

  explicit Dialer(EventLoop& loop) : loop_(loop), next_(loop) {}
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  /// Once. `done` is called once, never from within, and may destroy this; kUnavailable names the
  /// cause of the last failure.
  void dial(const std::vector<SocketAddress>& addresses, Connected done);

 private:
  void try_next();
  void look(int fd);
  void end(Result<UniqueFd> result);

  EventLoop& loop_;
  Timer next_;
  Connected done_;
  std::deque<SocketAddress> addresses_;  ///< Still to be tried.
  std::vector<UniqueFd> attempts_;
  int error_ = 0;
};

/// Looks up names, each on one thread at a time however many wait for it: a name server that hangs
/// collects no threads. Loop thread only.
class Names {
 public:
  explicit Names(Loop& loop) : resolver_(loop) {}
  /// Answers on the loop, never from within. Nobody is answered after the destructor.
  void resolve(const std::string& host, std::uint16_t port, Resolver::Answer answer);

 private:
  std::map<std::string, std::vector<Resolver::Answer>> waiting_;
  Resolver resolver_;
};

}  // namespace muster::http
