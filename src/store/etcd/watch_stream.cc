#include "store/etcd/watch_stream.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace muster::etcd {
namespace {

constexpr Duration kOpenTimeout = 3s;
constexpr Duration kLeastBackoff = 50ms;
constexpr Duration kMostBackoff = 2s;

}  // namespace

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
    : client_(client),
      requests_(requests),
      find_revision_(std::move(find_revision)),
      setup_(std::move(setup)),
      timer_(loop) {}

void WatchStream::open() {
  // Until "now" has a number, it must not come to mean "after the write that our caller sends
  // next": that write is held back.
  const bool hold = setup_.after == 0 && !setup_.lost;
  find_revision_(setup_.after, hold, [self = shared_from_this()](Result<std::int64_t> revision) {
    if (!self->closed_) self->on_revision(std::move(revision));
  });
}

void WatchStream::close() {
  closed_ = true;
  timer_.cancel();
  if (stream_) stream_->context.TryCancel();
  stream_ = nullptr;
  setup_.on_event = nullptr;
}

void WatchStream::on_revision(Result<std::int64_t> revision) {
  if (revision.is(Errc::kCorrupt)) {
    // There is nothing to go on from. The list that follows a reset tells the caller why.
    log_error("etcd watch ended", {{"reason", revision.error().message}});
    return reset_at(setup_.after);
  }
  if (!revision) {
    // Without a revision to resume from, what changes until one is found cannot be told.
    setup_.lost = setup_.lost || setup_.after == 0;
    return reopen(revision.error().message);
  }
  if (setup_.lost || setup_.after == 0) {
    setup_.after = *revision;
    if (std::exchange(setup_.lost, false)) reset_at(*revision);
  }
  if (!closed_) start_stream();
}

void WatchStream::start_stream() {
  auto stream = std::make_shared<Stream>(client_.endpoint());
  stream_ = stream;
  stream->request = requests_.watch(setup_.prefix, setup_.after + 1);
  client_.prepare(stream->context);
  grpc::TemplatedGenericStub<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse> stub(
      client_.channel());
  stream->stream = stub.PrepareCall(&stream->context, "/etcdserverpb.Watch/Watch", client_.queue());
  timer_.arm(kOpenTimeout, [this, stream] {
    client_.leave(stream->endpoint, "no answer to a watch");
    reopen("no answer");
  });
  stream->stream->StartCall(CompletionThread::tag([self = shared_from_this(), stream](bool ok) {
    if (!self->current(stream)) return;
    if (ok) {
      stream->stream->Write(stream->request, CompletionThread::tag([stream](bool) {}));
    }
    // Where the stream does not stand, reading fails and finds out why.
    self->read(stream);
  }));
}

void WatchStream::read(const std::shared_ptr<Stream>& stream) {
  stream->stream->Read(
      &stream->response, CompletionThread::tag([self = shared_from_this(), stream](bool ok) {
        if (!self->current(stream)) return;
        if (ok) return self->on_response(stream);
        stream->stream->Finish(&stream->status, CompletionThread::tag([self, stream](bool) {
          if (!self->current(stream)) return;
          self->client_.leave(stream->endpoint, stream->status.error_message());
          self->reopen(stream->status.error_message());
        }));
      }));
}

void WatchStream::on_response(const std::shared_ptr<Stream>& stream) {
  auto& response = stream->response;
  if (response.canceled()) {
    if (response.compact_revision() != 0) {
      setup_.lost = true;
      return reopen("history was compacted");
    }
    return reopen(response.cancel_reason());
  }
  if (response.created()) {
    timer_.cancel();
    backoff_ = Duration::zero();
    reported_.clear();
  }
  for (auto& event : *response.mutable_events()) stream->events.Add(std::move(event));
  if (!response.fragment()) {
    if (!stream->events.empty()) {
      deliver_events(stream);
      if (!current(stream)) return;
    } else if (!response.created()) {
      // An answer without events says that the watch is as far as this revision.
      setup_.after = std::max(setup_.after, response.header().revision());
    }
  }
  response.Clear();
  read(stream);
}

void WatchStream::deliver_events(const std::shared_ptr<Stream>& stream) {
  const auto raw = std::exchange(stream->events, {});
  const std::int64_t last = raw.Get(raw.size() - 1).kv().mod_revision();
  const auto on_event = setup_.on_event;
  for (const WatchEvent& event : requests_.events(raw)) {
    on_event(event);
    if (closed_) return;
  }
  setup_.after = std::max(setup_.after, last);
}

void WatchStream::reset_at(std::int64_t revision) {
  const auto on_event = setup_.on_event;
  on_event({WatchEvent::Kind::kReset, {}, {}, std::to_string(revision)});
}

void WatchStream::reopen(const std::string& reason) {
  if (stream_) stream_->context.TryCancel();
  stream_ = nullptr;
  if (reported_ != reason) {
    reported_ = reason;
    log_warn("etcd watch interrupted", {{"prefix", setup_.prefix}, {"reason", reason}});
  }
  backoff_ = std::clamp(backoff_ * 2, kLeastBackoff, kMostBackoff);
  timer_.arm(backoff_, [this] { open(); });
}

}  // namespace muster::etcd
