#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "etcd/rpc.pb.h"
#include "store/etcd/client.h"
#include "store/etcd/requests.h"

namespace muster::etcd {

/// One watch, over as many gRPC streams as it takes.
///
/// Before each stream it asks the cluster for its revision by a linearizable read: that finds a
/// member that works, renews the token, notices a cluster that went back in time (a watch from a
/// revision of the future would stay silent) and, where there is nothing to resume from, says
/// where "now" is. A gap that cannot be closed is told as kReset.
///
/// Nothing comes after close(). At most one answer of etcd is in memory. Loop thread only.
class WatchStream : public std::enable_shared_from_this<WatchStream> {
 public:
  /// Asks for the revision of the store; kCorrupt when it is not the store seen before, or below
  /// `at_least`. With `hold`, calls that begin meanwhile wait for the answer.
  using FindRevision =
      std::function<void(std::int64_t at_least, bool hold, Callback<std::int64_t> done)>;

  struct Setup {
    std::string prefix;
    std::int64_t after = 0;  ///< Deliver what changed after this revision; 0 for "now".
    bool lost = false;       ///< The caller's cursor is unusable: begin with kReset.
    std::function<void(const WatchEvent&)> on_event;
  };

  WatchStream(Client& client, const Requests& requests, Loop& loop, FindRevision find_revision,
              Setup setup);

  void open();
  void close();

 private:
  struct Stream;

  void on_revision(Result<std::int64_t> revision);
  void start_stream();
  void read(const std::shared_ptr<Stream>& stream);
  void on_response(const std::shared_ptr<Stream>& stream);
  void deliver_events(const std::shared_ptr<Stream>& stream);
  void reset_at(std::int64_t revision);
  void reopen(const std::string& reason);
  [[nodiscard]] bool current(const std::shared_ptr<Stream>& stream) const {
    return !closed_ && stream_ == stream;
  }

  Client& client_;
  const Requests& requests_;
  FindRevision find_revision_;
  Setup setup_;
  bool closed_ = false;
  std::shared_ptr<Stream> stream_;
  Timer timer_;  ///< Bounds the opening of a stream, or waits before the next one.
  Duration backoff_{0};
  std::string reported_;  ///< Why the watch does not run, when that was logged already.
};

}  // namespace muster::etcd
