#include "store/etcd/watch_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <utility>

#include "etcd/rpc.pb.h"

namespace muster::etcd {

/// gRPC writes to it from its own thread until the tags are done, so each tag holds it.
struct WatchStream::Stream {
  explicit Stream(std::size_t member) : endpoint(member) {}
  std::size_t endpoint;
  grpc::ClientContext context;
  etcdserverpb::WatchRequest request;
  etcdserverpb::WatchResponse response;
  grpc::Status status;
  google::protobuf::RepeatedPtrField<mvccpb::Event> events;  ///< Pieces so far of one answer.
  std::unique_ptr<
      grpc::ClientAsyncReaderWriter<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>>
      stream;
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
  stream->request = requests_.watch(prefix(), after() + 1);
  client_.prepare(stream->context);
  grpc::TemplatedGenericStub<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse> stub(
      client_.channel());
  stream->stream = stub.PrepareCall(&stream->context, "/etcdserverpb.Watch/Watch", client_.queue());
  limit_opening([this, stream] {
    client_.leave(stream->endpoint, "no answer to a watch");
    reopen("no answer");
  });
  stream->stream->StartCall(client_.tag([self = self(), stream](bool ok) {
    if (!self->current(stream)) return;
    if (ok) {
      stream->stream->Write(stream->request, self->client_.tag([stream](bool) {}));
    }
    // Where the stream does not stand, reading fails and finds out why.
    self->read(stream);
  }));
}

void WatchStream::read(const std::shared_ptr<Stream>& stream) {
  stream->stream->Read(&stream->response, client_.tag([self = self(), stream](bool ok) {
    if (!self->current(stream)) return;
    if (ok) return self->on_response(stream);
    stream->stream->Finish(&stream->status, self->client_.tag([self, stream](bool) {
      if (!self->current(stream)) return;
      self->client_.leave(stream->endpoint, stream->status.error_message());
      self->reopen(stream->status.error_message());
    }));
  }));
}

void WatchStream::on_response(const std::shared_ptr<Stream>& stream) {
  auto& response = stream->response;
  if (response.canceled()) {
    if (response.compact_revision() != 0) return reopen("history was compacted", true);
    return reopen(response.cancel_reason());
  }
  if (response.created()) in_force();
  for (auto& event : *response.mutable_events()) stream->events.Add(std::move(event));
  if (!response.fragment()) {
    if (!stream->events.empty()) {
      deliver_events(stream);
      if (!current(stream)) return;
    } else if (!response.created()) {
      // An answer without events says that the watch is as far as this revision.
      advance(response.header().revision());
    }
  }
  response.Clear();
  read(stream);
}

void WatchStream::deliver_events(const std::shared_ptr<Stream>& stream) {
  const auto raw = std::exchange(stream->events, {});
  const std::int64_t last = raw.Get(raw.size() - 1).kv().mod_revision();
  for (const WatchEvent& event : requests_.events(raw)) {
    deliver(event);
    if (closed()) return;
  }
  advance(last);
}

}  // namespace muster::etcd
