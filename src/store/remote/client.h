#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/security/credentials.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "store/remote/completions.h"
#include "store/remote/outcome.h"
#include "store/store.h"

namespace muster::remote {

enum class Access {
  kRead,       ///< Asking twice does no harm.
  kReadAhead,  ///< The same, and it goes out while others are held back.
  kWrite,      ///< Asking twice may act twice.
};

struct ClientOptions {
  std::string name;                    ///< Of the servers, for people: "etcd".
  std::vector<std::string> endpoints;  ///< host:port, or unix:/path of a socket
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  /// A read, and the way to a server for a write, goes to another server after this long.
  Duration attempt_timeout = 1s;
  /// Where the loop itself works gRPC; null: a thread of the client's own does. Must outlive it.
  LoopQueue* loop_queue = nullptr;
};

/// Asks a cluster of servers over gRPC: one connection each, one server in use until it fails.
///
/// A request is handed to gRPC only when a stream to a server stands, so "never left" is a fact
/// and not a guess: such a request, and one that the server refused unread, goes to the next
/// server while there is time. A read without an answer does, too. A write that has left does not.
/// gRPC's own retries are off. Every call completes once, posted to the loop, by its deadline.
///
/// What a kind of server does in its own way is said by a derived class. Destroying it cancels
/// everything, waits for gRPC, and no completion comes afterwards. Loop thread only.
class Client {
 public:
  Client(ClientOptions options, Loop& loop);
  virtual ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// One request to `method` ("/package.Service/Method") and its answer.
  template <typename Response, typename Request>
  void unary(std::string method, const Request& request, Access access, Deadline by,
             Callback<Response> done) {
    auto bytes = to_bytes(request);
    auto then = parsed<Response>(access, std::move(done));
    if (bytes) return start(std::move(method), std::move(*bytes), access, by, std::move(then));
    loop_.post(lifetime_.wrap([then, error = bytes.error()] { then(error); }));
  }

  /// Requests begun between these two wait, each at most until its deadline.
  void hold();
  void release();

  /// For streams, which their owner keeps and makes again: the server in use, ...
  [[nodiscard]] std::size_t endpoint() const { return current_; }
  [[nodiscard]] const std::shared_ptr<grpc::Channel>& channel() const {
    return channels_[current_];
  }
  /// ... what every request carries, and how to say that the server failed.
  virtual void prepare(grpc::ClientContext& context) const = 0;
  void leave(std::size_t endpoint, const std::string& reason);
  [[nodiscard]] grpc::CompletionQueue* queue() { return completions_->queue(); }
  [[nodiscard]] void* tag(std::function<void(bool)> done) {
    return completions_->tag(std::move(done));
  }

 protected:
  /// Reads the answer to a request that failed. `context` is that of the request, with the
  /// server's trailing metadata. A write that may have been performed must be kAmbiguous.
  [[nodiscard]] virtual Outcome judge(const grpc::Status& status,
                                      const grpc::ClientContext& context, Stage stage) const = 0;
  /// Whether a request to `method` may go out now; it waits for resume_waiting() where not.
  virtual bool ready(const std::string& method);
  /// The number of the credentials in use, and whether new ones can be had after those of that
  /// number were refused; ready() then says when.
  [[nodiscard]] virtual std::uint64_t credentials_number() const { return 0; }
  virtual bool renew_credentials(std::uint64_t refused);

  void resume_waiting();
  void fail_waiting(const Error& error);

  [[nodiscard]] Loop& loop() { return loop_; }

 private:
  struct Attempt;
  struct Call;
  using Shared = std::shared_ptr<Call>;

  template <typename Request>
  static Result<grpc::ByteBuffer> to_bytes(const Request& request) {
    grpc::ByteBuffer bytes;
    bool own = false;
    const auto status = grpc::SerializationTraits<Request>::Serialize(request, &bytes, &own);
    // A message has at most 2 GB, and a caller's value may be longer.
    if (!status.ok()) return {Errc::kInvalid, "the value is too long for one message"};
    return bytes;
  }
  template <typename Response>
  Callback<grpc::ByteBuffer> parsed(Access access, Callback<Response> done) {
    return [access, name = options_.name, done = std::move(done)](Result<grpc::ByteBuffer> bytes) {
      if (!bytes) return done(bytes.error());
      Response response;
      if (grpc::SerializationTraits<Response>::Deserialize(&*bytes, &response).ok()) {
        return done(std::move(response));
      }
      done(Error{access == Access::kWrite ? Errc::kAmbiguous : Errc::kCorrupt,
                 "the answer of " + name + " cannot be read"});
    };
  }

  void add_channel(const std::string& endpoint);
  void start(std::string method, grpc::ByteBuffer request, Access access, Deadline by,
             Callback<grpc::ByteBuffer> done);
  void begin(const Shared& call);
  void attempt(const Shared& call);
  void limit_attempt(const Shared& call);
  void on_open(const Shared& call, const std::shared_ptr<Attempt>& attempt, bool ok);
  void on_finish(const Shared& call, const std::shared_ptr<Attempt>& attempt);
  void retry(const Shared& call);
  bool redirect(const Shared& call, const std::string& endpoint);
  void expire(const Shared& call);
  void complete(const Shared& call, Result<grpc::ByteBuffer> result);

  ClientOptions options_;
  Loop& loop_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::size_t current_ = 0;
  bool served_ = false;  ///< The server in use has answered since it was chosen.
  int holds_ = 0;
  std::vector<Shared> waiting_;  ///< For ready() or for release(); bounded by the callers.
  std::unordered_set<Shared> calls_;
  Lifetime lifetime_;
  std::unique_ptr<Completions> completions_;
};

}  // namespace muster::remote
