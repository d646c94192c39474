#include "client/grpc_transport.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <utility>
#include <vector>

#include "base/log.h"
#include "platform/system_clock.h"

namespace muster::client {
namespace {

grpc::ChannelArguments channel_arguments() {
  grpc::ChannelArguments arguments;
  // Nothing is sent twice unless we say so.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Connections of this client only, so that they end with it.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Bandwidth probes cost a ping for every few messages and win nothing on small ones.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // A server that comes back is noticed soon; the least is also the time a connect may take.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // A topology of a hundred thousand nodes is one message.
  arguments.SetMaxReceiveMessageSize(-1);
  return arguments;
}

std::string to_text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  text.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

grpc::ByteBuffer to_buffer(const std::string& text) {
  const grpc::Slice slice(text.data(), text.size());
  return {&slice, 1};
}

/// gRPC waits for its deadlines by the wall clock, so that one that is set back makes them late; it
/// is given this much time to keep one itself.
constexpr Duration kDeadlineGrace = 50ms;

/// One call. gRPC works on it from the loop's queue until its tags are done, so each holds it.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(CompletionLoop& loop, StreamEvents events)
      : loop_(loop), events_(std::move(events)), deadline_(loop) {}

  void start(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
             std::optional<MonoTime> by, const std::string& request_id) {
    if (by) {
      const Duration left = std::max<Duration>(*by - loop_.now(), Duration(0));
      context_.set_deadline(gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
      deadline_.arm(left + kDeadlineGrace, [this] {
        expired_ = true;
        context_.TryCancel();
      });
    }
    context_.AddMetadata("muster-request-id", request_id);
    log_debug("request sent", {{"request", request_id}, {"method", method}});
    call_ = grpc::GenericStub(channel).PrepareCall(&context_, method, loop_.queue());
    call_->StartCall(tag(&Exchange::on_start));
  }

  void send(std::string message) {
    outbox_.push_back(std::move(message));
    pump();
  }
  void close() {
    closing_ = true;
    pump();
  }
  /// Nobody listens any more.
  void abandon() {
    events_ = {};
    context_.TryCancel();
  }

 private:
  void* tag(void (Exchange::*then)(bool)) {
    return loop_.tag([self = shared_from_this(), then](bool ok) { ((*self).*then)(ok); });
  }

  void on_start(bool ok) {
    if (!ok) return finish();
    open_ = sent_ = true;
    pump();
    call_->Read(&incoming_, tag(&Exchange::on_read));
  }

  void pump() {
    if (!open_ || writing_) return;
    if (!outbox_.empty()) {
      writing_ = true;
      call_->Write(to_buffer(outbox_.front()), tag(&Exchange::on_written));
      outbox_.pop_front();
    } else if (closing_) {
      writing_ = true;  // For ever: nothing may follow.
      call_->WritesDone(tag(&Exchange::on_closed));
    }
  }

  void on_written(bool ok) {
    if (!ok) return;  // Reading fails as well, and says why.
    writing_ = false;
    pump();
    // Held by a copy: the listener may abandon this call.
    if (const auto sent = events_.sent; !writing_ && sent) sent();
  }
  void on_closed(bool /*ok*/) {}

  void on_read(bool ok) {
    if (!ok) return finish();
    if (const auto message = events_.message) message(to_text(incoming_));
    incoming_.Clear();
    call_->Read(&incoming_, tag(&Exchange::on_read));
  }

  void finish() { call_->Finish(&status_, tag(&Exchange::on_finish)); }

  void on_finish(bool /*ok*/) {
    open_ = false;
    deadline_.cancel();
    const auto end = std::exchange(events_, {}).end;
    if (end) end(outcome());
  }

  [[nodiscard]] RpcStatus outcome() const {
    RpcStatus outcome;
    outcome.code = static_cast<RpcCode>(status_.error_code());
    outcome.message = status_.error_message();
    if (expired_ && outcome.code == RpcCode::kCancelled) {
      return {RpcCode::kDeadlineExceeded, "Deadline Exceeded",
              sent_ ? Reach::kSent : Reach::kUnsent};
    }
    const auto& metadata = context_.GetServerTrailingMetadata();
    const auto leader = metadata.find("leader-address");
    if (leader != metadata.end()) {
      outcome.leader_address.assign(leader->second.data(), leader->second.size());
    }
    outcome.replaced = metadata.contains("node-replaced");
    // gRPC gives a server's word and its own findings the same codes; only this text tells which
    // of the two it is. Without it the call counts as unanswered, which errs on the safe side.
    const bool from_peer =
        context_.debug_error_string().find("Error received from peer") != std::string::npos;
    if (outcome.ok() || from_peer || !outcome.leader_address.empty()) {
      outcome.reach = Reach::kAnswered;
    } else {
      outcome.reach = sent_ ? Reach::kSent : Reach::kUnsent;
    }
    return outcome;
  }

  CompletionLoop& loop_;
  StreamEvents events_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::ByteBuffer incoming_;
  grpc::Status status_;
  std::deque<std::string> outbox_;
  bool open_ = false;
  bool sent_ = false;
  bool writing_ = false;
  bool closing_ = false;
  Timer deadline_;
  bool expired_ = false;
};

class GrpcStream final : public Stream {
 public:
  explicit GrpcStream(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~GrpcStream() override { exchange_->abandon(); }
  void send(std::string message) override { exchange_->send(std::move(message)); }
  void close() override { exchange_->close(); }

 private:
  std::shared_ptr<Exchange> exchange_;
};

/// Names every call, so that a server's log can be searched for it. Loop thread only.
class RequestNames {
 public:
  std::string next() { return process_ + "-" + std::to_string(++count_); }

 private:
  static std::string some_name() {
    std::array<char, 16> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), system_random().next(), 16).ptr;
    return {digits.data(), end};
  }

  const std::string process_ = some_name();
  std::uint64_t count_ = 0;
};

class GrpcConnection final : public Connection {
 public:
  GrpcConnection(CompletionLoop& loop, std::shared_ptr<grpc::Channel> channel,
                 std::shared_ptr<RequestNames> names)
      : loop_(loop), channel_(std::move(channel)), names_(std::move(names)) {}

  std::unique_ptr<Call> unary(const std::string& method, std::string body, MonoTime by,
                              UnaryDone done) override {
    auto answer = std::make_shared<std::string>();
    StreamEvents events;
    events.message = [answer](std::string message) { *answer = std::move(message); };
    events.end = [answer, done = std::move(done)](const RpcStatus& status) {
      done(status, std::move(*answer));
    };
    auto call = stream(method, by, std::move(events));
    call->send(std::move(body));
    call->close();
    return call;
  }

  std::unique_ptr<Stream> stream(const std::string& method, std::optional<MonoTime> by,
                                 StreamEvents events) override {
    auto exchange = std::make_shared<Exchange>(loop_, std::move(events));
    exchange->start(channel_, method, by, names_->next());
    return std::make_unique<GrpcStream>(std::move(exchange));
  }

 private:
  CompletionLoop& loop_;
  std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<RequestNames> names_;
};

/// Looks at the files again and again, so that a program outlives its certificate.
std::shared_ptr<grpc::ChannelCredentials> watched_credentials(const TlsFiles& tls) {
  constexpr unsigned kLookEverySeconds = 10;
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          tls.key, tls.cert, tls.ca, kLookEverySeconds));
  if (!tls.ca.empty()) options.watch_root_certs();
  if (!tls.cert.empty()) options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace

struct GrpcTransport::Credentials {
  std::shared_ptr<grpc::ChannelCredentials> channel;
  std::shared_ptr<RequestNames> names = std::make_shared<RequestNames>();
};

Result<std::unique_ptr<GrpcTransport>> GrpcTransport::open(const TlsFiles& tls) {
  auto credentials = std::make_unique<Credentials>();
  credentials->channel = grpc::InsecureChannelCredentials();
  if (tls.any()) {
    // Read once here, so that what is missing is said at once.
    if (const auto texts = pki::read_tls_files(tls); !texts) return texts.error();
    credentials->channel = watched_credentials(tls);
  }
  return std::unique_ptr<GrpcTransport>(new GrpcTransport(std::move(credentials)));
}

GrpcTransport::GrpcTransport(std::unique_ptr<Credentials> credentials)
    : credentials_(std::move(credentials)) {}

GrpcTransport::~GrpcTransport() = default;

std::unique_ptr<Connection> GrpcTransport::connect(const std::string& server) {
  return std::make_unique<GrpcConnection>(
      loop_,
      grpc::CreateCustomChannel("dns:///" + server, credentials_->channel, channel_arguments()),
      credentials_->names);
}

}  // namespace muster::client
