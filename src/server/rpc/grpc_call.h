#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/loop.h"
#include "rpc/call.h"
#include "server/rpc/completion.h"
#include "server/rpc/connections.h"

// Only the files of this folder that end in .cc include this: it brings gRPC's headers.
namespace muster::rpc {

/// Shares the bytes with gRPC, without copying them.
[[nodiscard]] grpc::ByteBuffer to_buffer(const Payload& message);
[[nodiscard]] std::string to_string(const grpc::ByteBuffer& buffer);

inline constexpr const char* kForwardedKey = "muster-forwarded";
inline constexpr const char* kServerKey = "muster-server";
inline constexpr const char* kLeaderKey = "leader-address";
inline constexpr const char* kReplacedKey = "node-replaced";
inline constexpr const char* kRetryKey = "retry-after";

class GrpcCall;

/// What the calls of one server share. It outlives them.
struct CallHost {
  CallHost(Loop& on, Connections all) : loop(on), connections(std::move(all)), untaken(on) {}
  /// To be called when an answer is on its way: it is cut when its client does not take it. Every
  /// one costs what it holds, and clients that take nothing would hold them for ever.
  void expect_taken();

  Loop& loop;
  grpc::AsyncGenericService service;
  grpc::ServerCompletionQueue* queue = nullptr;
  std::string server_id;
  std::function<void(CallPtr)> on_call;  ///< Empty once the server closes.
  std::unordered_set<GrpcCall*> calls;   ///< Accepted, and not over.
  std::size_t calls_max = 0;
  std::function<void()> call_refused;  ///< One more than calls_max came.
  Duration taken_within{};
  std::size_t operations = 0;  ///< That gRPC has not completed.
  Connections connections;
  Timer untaken;

 private:
  void cut_untaken();
};

/// A call as gRPC has it. Lives as long as gRPC holds one of its operations, or a user it.
class GrpcCall final : public Call, public std::enable_shared_from_this<GrpcCall> {
 public:
  explicit GrpcCall(CallHost& host);

  /// Waits for a client; another one follows by itself for each that came.
  static void accept(CallHost& host);
  /// Ends it from our side when the server closes.
  void abort();

  [[nodiscard]] const std::string& method() const override { return context_.method(); }
  [[nodiscard]] Duration time_left() const override;
  [[nodiscard]] bool forwarded() const override;
  [[nodiscard]] std::string metadata(const std::string& key) const override;
  [[nodiscard]] std::string_view certificate() const override;
  [[nodiscard]] std::string remote() const override;
  [[nodiscard]] int connection() override;
  [[nodiscard]] bool over() const override { return over_; }
  /// Its answer is on the way, and has not left yet.
  [[nodiscard]] bool finishing() const { return finishing_ && !over_; }
  [[nodiscard]] MonoTime finishing_since() const { return finishing_since_; }
  void read(std::function<void(std::optional<std::string>)> done) override;
  void write(Payload message, std::function<void()> done) override;
  void write_ahead(Payload message, std::function<void()> done) override;
  void finish(RpcStatus status) override;
  void reply(Payload message) override;
  void on_over(std::function<void()> over) override { on_over_ = std::move(over); }
  void cut() override;

 private:
  /// One kind of operation. While one is under way it keeps the call alive.
  struct Operation final : remote::Completion {
    Operation(GrpcCall& c, void (GrpcCall::*f)(bool)) : call(c), on(f) {}
    void* begin();
    /// gRPC will not complete it after all.
    void forget();
    void complete(bool ok) override;
    GrpcCall& call;
    void (GrpcCall::*on)(bool);
    std::shared_ptr<GrpcCall> held;
  };

  void write(const Payload& message, std::function<void()> done, grpc::WriteOptions options);
  void accepted(bool ok);
  void has_read(bool ok);
  void written(bool ok);
  void finished(bool ok);
  void done(bool ok);
  void end();
  grpc::Status closing(const RpcStatus& status);

  CallHost& host_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  grpc::ByteBuffer request_;
  std::function<void(std::optional<std::string>)> on_read_;
  std::function<void()> on_written_;
  std::function<void()> on_over_;
  std::shared_ptr<const grpc::AuthContext> peer_;
  std::optional<int> connection_;  ///< Once it has been asked for.
  bool finishing_ = false;
  MonoTime finishing_since_{};
  bool over_ = false;
  Operation accept_{*this, &GrpcCall::accepted};
  Operation read_{*this, &GrpcCall::has_read};
  Operation write_{*this, &GrpcCall::written};
  Operation finish_{*this, &GrpcCall::finished};
  Operation done_{*this, &GrpcCall::done};
};

}  // namespace muster::rpc
