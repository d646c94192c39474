#include "store/etcd/watch_stream.h"

#include <utility>

#include "etcd/rpc.pb.h"

namespace muster::etcd {

struct WatchStream::Stream {
  std::size_t endpoint;
  google::protobuf::RepeatedPtrField<mvccpb::Event> events{};  ///< Pieces so far of one answer.
  std::unique_ptr<rpc::ClientCall> call{};
};

WatchStream::WatchStream(Client& client, const Requests& requests, Loop& loop,
                         FindRevision find_revision, Setup setup)
    : ResumingWatch(loop, std::move(find_revision), std::move(setup)),
      client_(client),
      requests_(requests) {}

WatchStream::~WatchStream() = default;

void WatchStream::drop_stream() {
  stream_ = nullptr;
}

void WatchStream::start_stream() {
  stream_ = std::make_unique<Stream>(Stream{client_.endpoint()});
  stream_->call =
      client_.stream("/etcdserverpb.Watch/Watch",
                     {.message = [this](const std::string& bytes) { on_message(bytes); },
                      .end = [this](const rpc::Outcome& outcome) { failed(outcome.message); }});
  // It stays open from here: etcd ends a watch with its stream.
  stream_->call->send(rpc::payload(requests_.watch(prefix(), after() + 1).SerializeAsString()));
  limit_opening([this] { failed("no answer to a watch"); });
}

void WatchStream::failed(const std::string& reason) {
  client_.leave(stream_->endpoint, {Errc::kUnavailable, reason});
  reopen(reason);
}

void WatchStream::on_message(const std::string& bytes) {
  const auto self = shared_from_this();  // The callback may release the watch.
  etcdserverpb::WatchResponse response;
  if (!response.ParseFromString(bytes)) return failed("etcd's answer cannot be decoded");
  if (response.canceled()) {
    if (response.compact_revision() != 0) return reopen("history was compacted", true);
    return reopen(response.cancel_reason());
  }
  if (response.created()) in_force();
  for (auto& event : *response.mutable_events()) stream_->events.Add(std::move(event));
  if (response.fragment()) return;
  if (!stream_->events.empty()) {
    deliver_events();
  } else if (!response.created()) {
    // An answer without events says that the watch is as far as this revision.
    advance(response.header().revision());
  }
}

void WatchStream::deliver_events() {
  const auto raw = std::exchange(stream_->events, {});
  const std::int64_t last = raw.Get(raw.size() - 1).kv().mod_revision();
  for (const WatchEvent& event : requests_.events(raw)) {
    deliver(event);
    if (closed()) return;
  }
  advance(last);
}

}  // namespace muster::etcd
