#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/log_throttle.h"
#include "base/loop.h"
#include "base/random.h"
#include "platform/event_loop.h"
#include "platform/pki/tls_files.h"
#include "rpc/channel.h"
#include "rpc/tls.h"
#include "store/remote/verdict.h"
#include "store/store.h"

namespace muster::remote {

struct ClientOptions {
  std::string name;                       ///< Of the servers, for people: "etcd".
  std::vector<std::string> endpoints;     ///< host:port, or unix:/path of a socket.
  std::shared_ptr<rpc::ClientTls> tls{};  ///< Null: plaintext.
  /// After this time a read, or a write not yet sent, goes to another server.
  Duration attempt_timeout = 1s;
};

/// The TLS of a client; null without files. `tls12`: servers that know no later version are
/// accepted. Returns kInvalid and names the file if one cannot be used.
[[nodiscard]] Result<std::shared_ptr<rpc::ClientTls>> client_tls(const TlsFiles& files, bool tls12);

/// Sends requests to a cluster of servers: one channel each, one server in use until it fails.
///
/// A request is sent only after a server has greeted, so "never sent" is a fact and not a guess.
/// Such a request, and one that the server refused unread, goes to the next server while there is
/// time. So does a read without an answer; a write that was sent does not. Every call completes
/// once, posted to the loop, by its deadline.
///
/// Derived classes define the behaviour of each kind of server. The destructor cancels everything,
/// and no completion comes afterwards. Threads: loop thread only.
class Client {
 public:
  Client(ClientOptions options, EventLoop& loop);
  virtual ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// One request to `method` ("/package.Service/Method") and its answer.
  template <typename Response, typename Request>
  void unary(std::string method, const Request& request, Access access, Deadline by,
             Callback<Response> done) {
    auto then = parsed<Response>(access, std::move(done));
    // A message has at most 2 GB, but a caller's value may be longer.
    if (request.ByteSizeLong() <= kMessageBytesMax) {
      return start(std::move(method), rpc::payload(request.SerializeAsString()), access, by,
                   std::move(then));
    }
    loop_.post(lifetime_.wrap([then] {
      then(Error{Errc::kInvalid, "the value is too long for one message"});
    }));
  }

  /// Requests begun between these two calls wait, each at most until its deadline.
  void hold();
  void release();

  /// For streams, which their owner keeps and reopens: the server in use, a stream to it, ...
  [[nodiscard]] std::size_t endpoint() const { return current_; }
  [[nodiscard]] std::unique_ptr<rpc::ClientCall> stream(const std::string& method,
                                                        rpc::ClientCallEvents events);
  /// ... and a report that the server failed.
  void leave(std::size_t endpoint, const Error& reason);

 protected:
  /// Metadata of every request.
  [[nodiscard]] virtual rpc::Metadata metadata() const { return {}; }
  /// Classifies a failed request. A write that may have been performed must be kAmbiguous.
  [[nodiscard]] virtual Verdict judge(const rpc::Outcome& outcome, Access access) const = 0;
  /// Whether a request to `method` may be sent now; otherwise it waits for resume_waiting().
  virtual bool ready(const std::string& method);
  /// The number of the credentials in use, and whether new ones can be fetched after those with
  /// that number were refused; then ready() says when.
  [[nodiscard]] virtual std::uint64_t credentials_number() const { return 0; }
  virtual bool renew_credentials(std::uint64_t refused);

  void resume_waiting();
  void fail_waiting(const Error& error);

  [[nodiscard]] Loop& loop() { return loop_; }

 private:
  struct Attempt;
  struct Call;
  using Shared = std::shared_ptr<Call>;
  static constexpr std::size_t kMessageBytesMax = std::numeric_limits<std::int32_t>::max();

  template <typename Response>
  Callback<std::string> parsed(Access access, Callback<Response> done) {
    return [access, name = options_.name, done = std::move(done)](Result<std::string> bytes) {
      if (!bytes) return done(bytes.error());
      Response response;
      if (response.ParseFromString(*bytes)) return done(std::move(response));
      done(Error{access == Access::kWrite ? Errc::kAmbiguous : Errc::kCorrupt,
                 "the answer of " + name + " cannot be read"});
    };
  }

  /// False if `endpoint` is not an endpoint.
  bool add_channel(const std::string& endpoint);
  void start(std::string method, rpc::Payload request, Access access, Deadline by,
             Callback<std::string> done);
  void begin(const Shared& call);
  void attempt(const Shared& call);
  void limit_attempt(const Shared& call);
  void on_end(const Shared& call, const rpc::Outcome& outcome);
  void retry(const Shared& call);
  bool redirect(const Shared& call, const std::string& endpoint);
  void warn(const Error& reason);
  void expire(const Shared& call);
  void complete(const Shared& call, Result<std::string> result);

  ClientOptions options_;
  EventLoop& loop_;
  Random random_;
  rpc::SendTurn turn_;
  std::vector<std::unique_ptr<rpc::Channel>> channels_;  ///< As `options_.endpoints`.
  std::size_t current_ = 0;
  bool served_ = false;  ///< The server in use has answered since it was chosen.
  LogThrottle told_;     ///< Which failures were logged.
  int holds_ = 0;
  std::vector<Shared> waiting_;  ///< For ready() or release(); bounded by the callers.
  std::unordered_set<Shared> calls_;
  Lifetime lifetime_;
};

}  // namespace muster::remote
