#include "store/muster/watch_stream.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/rpc_method.h>
#include <grpcpp/support/async_stream.h>

#include <utility>

#include "muster/v1/store.pb.h"
#include "store/remote/numbers.h"

namespace muster::musterd {

/// gRPC writes to it from its own thread until the tags are done, so each tag holds it.
struct WatchStream::Stream {
  explicit Stream(std::size_t server) : endpoint(server) {}
  std::size_t endpoint;
  grpc::ClientContext context;
  v1::StoreWatchResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncReader<v1::StoreWatchResponse>> reader;
};

WatchStream::WatchStream(Client& client, const Requests& requests, Loop& loop,
                         FindRevision find_revision, Setup setup)
    : ResumingWatch(loop, std::move(find_revision), std::move(setup)),
      client_(client),
      requests_(requests) {}

void WatchStream::drop_stream() {
  if (stream_) stream_->context.TryCancel();
  stream_ = nullptr;
}

void WatchStream::start_stream() {
  auto stream = std::make_shared<Stream>(client_.endpoint());
  stream_ = stream;
  client_.prepare(stream->context);
  // What a generated stub would do, whose header takes longer to compile than all that is ours
  // here.
  const auto channel = client_.channel();
  const grpc::internal::RpcMethod method("/muster.v1.StoreService/Watch", nullptr,
                                         grpc::internal::RpcMethod::SERVER_STREAMING, channel);
  stream->reader.reset(grpc::internal::ClientAsyncReaderFactory<v1::StoreWatchResponse>::Create(
      channel.get(), client_.queue(), method, &stream->context,
      requests_.watch(prefix(), after(), history_), /*start=*/false, nullptr));
  limit_opening([this, stream] {
    client_.leave(stream->endpoint, "no answer to a watch");
    reopen("no answer");
  });
  stream->reader->StartCall(client_.tag([self = self(), stream](bool) {
    // Where the stream does not stand, reading fails and finds out why.
    if (self->current(stream)) self->read(stream);
  }));
}

void WatchStream::read(const std::shared_ptr<Stream>& stream) {
  stream->reader->Read(&stream->response, client_.tag([self = self(), stream](bool ok) {
    if (!self->current(stream)) return;
    if (ok) return self->on_response(stream);
    self->finish(stream);
  }));
}

void WatchStream::finish(const std::shared_ptr<Stream>& stream) {
  stream->reader->Finish(&stream->status, client_.tag([self = self(), stream](bool) {
    if (!self->current(stream)) return;
    const std::string reason =
        stream->status.ok() ? "the server ended the watch" : stream->status.error_message();
    self->client_.leave(stream->endpoint, reason);
    self->reopen(reason);
  }));
}

void WatchStream::on_response(const std::shared_ptr<Stream>& stream) {
  in_force();
  const auto revision = static_cast<std::int64_t>(stream->response.revision());
  const bool reset = stream->response.reset();
  if (!stream->response.history().empty()) history_ = stream->response.history();
  const auto events = requests_.events(std::exchange(stream->response, {}), after());
  if (reset) {
    advance(revision);
    reset_at(after());
    if (!current(stream)) return;
  }
  for (const WatchEvent& event : events) {
    deliver(event);
    if (!current(stream)) return;
  }
  if (!events.empty()) advance(*remote::to_number(events.back().cursor));
  advance(revision);
  read(stream);
}

}  // namespace muster::musterd
