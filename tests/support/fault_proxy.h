#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/time.h"
#include "platform/unique_fd.h"

namespace muster {

/// What happens to the next `times` requests whose method and path match.
struct Fault {
  enum class Kind {
    kAnswer,         ///< The server is not asked; `answer` is the reply, byte for byte.
    kLoseReply,      ///< The server does it; the reply is swallowed and the connection closed.
    kTruncateReply,  ///< Half of the reply's body, then the connection is closed.
    kStall,          ///< Held for `stall`, then done as usual.
    kStallReply,     ///< Done at once, the reply held for `stall`.
    kClose,          ///< The request is read and the connection closed; the server never sees it.
  };
  Kind kind;
  std::string method;     ///< Empty: any.
  std::string path_part;  ///< Of the request target; empty: any.
  std::string answer = {};
  Duration stall{0};
  int times = 1;
};

/// Replies that real S3 services give and radosgw does not.
namespace s3_answers {
[[nodiscard]] std::string conditional_request_conflict();        ///< 409: nothing is settled.
[[nodiscard]] std::string precondition_failed();                 ///< 412.
[[nodiscard]] std::string slow_down(int retry_after_s);          ///< 503 SlowDown with Retry-After.
[[nodiscard]] std::string too_many_requests(int retry_after_s);  ///< 429.
[[nodiscard]] std::string internal_error();                      ///< 500.
/// Any status with an S3 error body.
[[nodiscard]] std::string error(const std::string& status_line, const std::string& code,
                                const std::string& extra_headers = {});
}  // namespace s3_answers

/// An HTTP/1.1 proxy on loopback that passes bytes on unchanged, the Host header included, so that
/// a signature made for its own address stays valid, except where a fault was asked for.
///
/// A thread for each connection; destroying it closes them all. Any thread.
class FaultProxy {
 public:
  explicit FaultProxy(int upstream_port);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  [[nodiscard]] int port() const { return port_; }
  /// Faults are tried in the order they were given.
  void inject(Fault fault) MUSTER_EXCLUDES(mutex_);
  /// Forgets faults not used up, and the counts.
  void reset() MUSTER_EXCLUDES(mutex_);
  /// How many requests came, by method; stalled and refused ones included.
  [[nodiscard]] int requests(const std::string& method) MUSTER_EXCLUDES(mutex_);
  /// How many faults have been carried out or begun.
  [[nodiscard]] int faults() MUSTER_EXCLUDES(mutex_);

 private:
  struct Connection {
    UniqueFd client;
    UniqueFd server;
    std::thread thread;
  };
  struct Message {
    std::string method;  ///< Of a request.
    std::string target;  ///< Of a request.
    std::string head;
    std::string body;
  };

  void accept_loop();
  void serve(Connection& connection);
  /// Carries out one request with its fault; false ends the connection.
  bool pass(Connection& connection, const Message& request);
  std::optional<Message> forward(Connection& connection, const Message& request);
  /// False when the proxy ends first.
  bool stall(Duration d);
  std::optional<Fault> take_fault(const Message& request) MUSTER_EXCLUDES(mutex_);

  const int upstream_port_;
  int port_ = 0;
  UniqueFd listener_;
  UniqueFd ending_;  ///< Readable once the proxy ends, so that a stall ends, too.
  Mutex mutex_;
  std::list<Fault> planned_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::string, int> counts_ MUSTER_GUARDED_BY(mutex_);
  int faults_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool closed_ MUSTER_GUARDED_BY(mutex_) = false;
  std::list<std::unique_ptr<Connection>> connections_ MUSTER_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

}  // namespace muster
