#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::bench {

/// A gRPC client for measurements: one completion queue, worked by the thread that runs it, on
/// which every callback comes. Speaks any method of any server. One thread.
class RpcPump {
 public:
  RpcPump() = default;
  /// What is still under way must have been cancelled.
  ~RpcPump();
  RpcPump(const RpcPump&) = delete;
  RpcPump& operator=(const RpcPump&) = delete;

  using Ended = std::function<void(bool)>;

  /// Works until `done` holds; gives up with a message, and ends the program, after `limit`.
  void run_until(const std::function<bool()>& done, Duration limit = 120s);
  /// Works for that long, and calls `tick` at each of `per_second` evenly spaced moments; moments
  /// that were missed are made up for.
  void run_paced(Duration time, double per_second, const std::function<void()>& tick);
  void run_for(Duration time);

  [[nodiscard]] grpc::CompletionQueue* queue() { return &queue_; }
  [[nodiscard]] static void* tag(Ended ended) { return new Ended(std::move(ended)); }

 private:
  /// Handles what is ready by `until`; false when nothing was.
  bool step(MonoTime until);

  grpc::CompletionQueue queue_;
};

/// A connection of its own to host:port; it is not shared with any other channel.
[[nodiscard]] std::shared_ptr<grpc::Channel> connect(const std::string& endpoint);
/// That many, all connected.
[[nodiscard]] std::vector<std::shared_ptr<grpc::Channel>> connect_all(const std::string& endpoint,
                                                                      std::size_t count);

/// One request and its answer; the status tells how it went.
template <typename Response, typename Request>
void unary(RpcPump& pump, const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
           const Request& request, Duration timeout,
           std::function<void(const grpc::Status&, Response&)> done) {
  struct Call {
    grpc::ClientContext context;
    Response response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
  };
  auto call = std::make_shared<Call>();
  call->context.set_deadline(gpr_time_from_nanos(timeout.count(), GPR_TIMESPAN));
  grpc::TemplatedGenericStub<Request, Response> stub(channel);
  call->reader = stub.PrepareUnaryCall(&call->context, method, request, pump.queue());
  call->reader->StartCall();
  call->reader->Finish(
      &call->response, &call->status,
      RpcPump::tag([call, done = std::move(done)](bool) { done(call->status, call->response); }));
}

/// The same, waited for; a failure ends the program with its message.
template <typename Response, typename Request>
Response ask(RpcPump& pump, const std::shared_ptr<grpc::Channel>& channel,
             const std::string& method, const Request& request) {
  bool ended = false;
  Response answer;
  unary<Response>(
      pump, channel, method, request, 30s, [&](const grpc::Status& status, Response& response) {
        if (!status.ok()) {
          std::fprintf(stderr, "%s: %s\n", method.c_str(), status.error_message().c_str());
        }
        MUSTER_CHECK(status.ok());
        answer = std::move(response);
        ended = true;
      });
  pump.run_until([&] { return ended; });
  return answer;
}

/// A stream in both directions. Messages written while another is on its way wait; answers come to
/// `on_answer`. Destroying it cancels the stream; one that ends otherwise ends the program with its
/// status, because every figure would be worthless.
template <typename Request, typename Response>
class RpcStream {
 public:
  RpcStream(RpcPump& pump, const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
            std::function<void(Response&)> on_answer)
      : state_(std::make_shared<State>()) {
    state_->on_answer = std::move(on_answer);
    grpc::TemplatedGenericStub<Request, Response> stub(channel);
    state_->stream = stub.PrepareCall(&state_->context, method, pump.queue());
    state_->stream->StartCall(RpcPump::tag([state = state_](bool ok) {
      if (state->closed) return;
      if (!ok) return finish(state);
      state->open = true;
      read(state);
      write_next(state);
    }));
  }
  ~RpcStream() {
    state_->closed = true;
    state_->context.TryCancel();
  }
  RpcStream(const RpcStream&) = delete;
  RpcStream& operator=(const RpcStream&) = delete;

  void write(const Request& request) {
    state_->unsent.push_back(request);
    if (state_->open && !state_->writing) write_next(state_);
  }
  [[nodiscard]] bool open() const { return state_->open; }

 private:
  struct State {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientAsyncReaderWriter<Request, Response>> stream;
    std::function<void(Response&)> on_answer;
    Response response;
    grpc::Status status;
    std::deque<Request> unsent;
    bool open = false;
    bool writing = false;
    bool closed = false;
  };

  static void read(const std::shared_ptr<State>& state) {
    state->stream->Read(&state->response, RpcPump::tag([state](bool ok) {
      if (state->closed) return;
      if (!ok) return finish(state);
      state->on_answer(state->response);
      if (!state->closed) read(state);
    }));
  }
  static void finish(const std::shared_ptr<State>& state) {
    state->stream->Finish(&state->status, RpcPump::tag([state](bool) {
      if (state->closed) return;
      std::fprintf(stderr, "a stream ended: %s\n", state->status.error_message().c_str());
      std::exit(1);
    }));
  }
  static void write_next(const std::shared_ptr<State>& state) {
    state->writing = !state->unsent.empty();
    if (!state->writing) return;
    // What waits together leaves together.
    grpc::WriteOptions options;
    if (state->unsent.size() > 1) options.set_buffer_hint();
    state->stream->Write(state->unsent.front(), options, RpcPump::tag([state](bool ok) {
                           if (!ok || state->closed) return;
                           state->unsent.pop_front();
                           write_next(state);
                         }));
  }

  std::shared_ptr<State> state_;
};

/// What a closed loop of calls found.
struct LoadResult {
  std::uint64_t answered = 0;
  Duration wall{0};
  std::vector<double> latencies_ms{};
  [[nodiscard]] double per_second() const;
};

/// Starts one call on the lane and calls `done` at its end.
using Start = std::function<void(std::size_t lane, std::function<void()> done)>;

/// Keeps `lanes` calls under way for `time`; each lane starts its next when its last ended.
[[nodiscard]] LoadResult closed_loop(RpcPump& pump, std::size_t lanes, Duration time,
                                     const Start& start);

}  // namespace muster::bench
