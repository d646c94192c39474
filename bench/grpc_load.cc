// gRPC's own client for C++, on one completion queue.
#include <grpcpp/alarm.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <deque>

#include "bench/rpc_load.h"
#include "platform/system_clock.h"

namespace muster::bench {
namespace {

using Ended = std::function<void(bool)>;

void* tag(Ended ended) {
  return new Ended(std::move(ended));
}

grpc::ByteBuffer to_buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string to_bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

CallEnd end_of(const grpc::Status& status) {
  if (status.ok()) return {};
  return {"status " + std::to_string(status.error_code()) + ": " + status.error_message()};
}

class GrpcStream final : public ByteStream {
 public:
  GrpcStream(grpc::CompletionQueue& queue, const std::shared_ptr<grpc::Channel>& channel,
             const std::string& method, std::function<void(const std::string&)> on_answer)
      : state_(std::make_shared<State>()) {
    state_->method = method;
    state_->on_answer = std::move(on_answer);
    grpc::GenericStub stub(channel);
    state_->stream = stub.PrepareCall(&state_->context, method, &queue);
    state_->stream->StartCall(tag([state = state_](bool ok) {
      if (state->closed) return;
      if (!ok) return finish(state);
      state->open = true;
      read(state);
      write_next(state);
    }));
  }
  ~GrpcStream() override {
    state_->closed = true;
    state_->context.TryCancel();
  }
  void write(std::string message) override {
    state_->unsent.push_back(to_buffer(message));
    if (state_->open && !state_->writing) write_next(state_);
  }

 private:
  struct State {
    std::string method;
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
    std::function<void(const std::string&)> on_answer;
    grpc::ByteBuffer response;
    grpc::Status status;
    std::deque<grpc::ByteBuffer> unsent;
    bool open = false;
    bool writing = false;
    bool closed = false;
  };
  using StatePtr = std::shared_ptr<State>;

  static void read(const StatePtr& state) {
    state->stream->Read(&state->response, tag([state](bool ok) {
      if (state->closed) return;
      if (!ok) return finish(state);
      state->on_answer(to_bytes(state->response));
      if (!state->closed) read(state);
    }));
  }
  static void finish(const StatePtr& state) {
    state->stream->Finish(&state->status, tag([state](bool) {
      if (state->closed) return;
      give_up("a stream of " + state->method, end_of(state->status).error);
    }));
  }
  static void write_next(const StatePtr& state) {
    state->writing = !state->unsent.empty();
    if (!state->writing) return;
    // What waits together leaves together.
    grpc::WriteOptions options;
    if (state->unsent.size() > 1) options.set_buffer_hint();
    state->stream->Write(state->unsent.front(), options, tag([state](bool ok) {
                           if (!ok || state->closed) return;
                           state->unsent.pop_front();
                           write_next(state);
                         }));
  }

  StatePtr state_;
};

class GrpcLink final : public RpcLink {
 public:
  GrpcLink(grpc::CompletionQueue& queue, std::shared_ptr<grpc::Channel> channel)
      : queue_(queue), channel_(std::move(channel)) {}

  void call(const std::string& method, std::string request, Duration timeout, Done done) override {
    struct Call {
      grpc::ClientContext context;
      grpc::ByteBuffer request;
      grpc::ByteBuffer response;
      grpc::Status status;
      std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
    };
    auto call = std::make_shared<Call>();
    call->request = to_buffer(request);
    call->context.set_deadline(gpr_time_from_nanos(timeout.count(), GPR_TIMESPAN));
    grpc::GenericStub stub(channel_);
    call->reader = stub.PrepareUnaryCall(&call->context, method, call->request, &queue_);
    call->reader->StartCall();
    call->reader->Finish(&call->response, &call->status, tag([call, done = std::move(done)](bool) {
      done(end_of(call->status), to_bytes(call->response));
    }));
  }
  std::unique_ptr<ByteStream> stream(const std::string& method,
                                     std::function<void(const std::string&)> on_answer) override {
    return std::make_unique<GrpcStream>(queue_, channel_, method, std::move(on_answer));
  }

 private:
  grpc::CompletionQueue& queue_;
  std::shared_ptr<grpc::Channel> channel_;
};

class GrpcPump final : public RpcPump {
 public:
  // What is still under way must have been cancelled.
  ~GrpcPump() override {
    queue_.Shutdown();
    void* next = nullptr;
    bool ok = false;
    while (queue_.Next(&next, &ok)) delete static_cast<Ended*>(next);
  }

  std::vector<LinkPtr> connect_all(const std::string& endpoint, std::size_t count,
                                   const std::optional<LoadTls>& tls) override {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
    arguments.SetMaxReceiveMessageSize(-1);
    const auto credentials =
        tls ? grpc::SslCredentials({tls->authorities, tls->key, tls->certificate})
            : grpc::InsecureChannelCredentials();
    std::vector<LinkPtr> links;
    for (std::size_t i = 0; i < count; ++i) {
      auto channel = grpc::CreateCustomChannel("ipv4:" + endpoint, credentials, arguments);
      // One after another: a burst would overflow the server's backlog and measure retries.
      if (!channel->WaitForConnected(gpr_time_from_seconds(30, GPR_TIMESPAN))) {
        give_up(endpoint, "no connection");
      }
      links.push_back(std::make_shared<GrpcLink>(queue_, std::move(channel)));
    }
    return links;
  }
  void after(Duration delay, std::function<void()> task) override {
    auto alarm = std::make_shared<grpc::Alarm>();
    alarm->Set(&queue_, gpr_time_from_nanos(delay.count(), GPR_TIMESPAN),
               tag([task = std::move(task), alarm](bool) { task(); }));
  }

 private:
  bool step(MonoTime until) override {
    const Duration left = std::max<Duration>(until - boot_now(), Duration::zero());
    void* next = nullptr;
    bool ok = false;
    const auto got = queue_.AsyncNext(&next, &ok, gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
    if (got != grpc::CompletionQueue::GOT_EVENT) return false;
    const std::unique_ptr<Ended> ended(static_cast<Ended*>(next));
    (*ended)(ok);
    return true;
  }

  grpc::CompletionQueue queue_;
};

}  // namespace

std::unique_ptr<RpcPump> grpc_pump() {
  return std::make_unique<GrpcPump>();
}

}  // namespace muster::bench
