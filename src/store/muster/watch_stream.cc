#include "store/muster/watch_stream.h"

#include <utility>

#include "muster/v1/store.pb.h"
#include "store/remote/numbers.h"

namespace muster::musterd {

WatchStream::WatchStream(Client& client, const Requests& requests, Loop& loop,
                         FindRevision find_revision, Setup setup)
    : ResumingWatch(loop, std::move(find_revision), std::move(setup)),
      client_(client),
      requests_(requests) {}

void WatchStream::drop_stream() {
  stream_ = nullptr;
}

void WatchStream::start_stream() {
  endpoint_ = client_.endpoint();
  stream_ =
      client_.stream("/muster.v1.StoreService/Watch",
                     {.message = [this](const std::string& bytes) { on_message(bytes); },
                      .end =
                          [this](const rpc::Outcome& outcome) {
                            failed(outcome.ok() ? "the server ended the watch" : outcome.message);
                          }});
  stream_->send(rpc::payload(requests_.watch(prefix(), after(), history_).SerializeAsString()));
  stream_->finish();
  limit_opening([this] { failed("no answer to a watch"); });
}

void WatchStream::failed(const std::string& reason) {
  client_.leave(endpoint_, {Errc::kUnavailable, reason});
  reopen(reason);
}

void WatchStream::on_message(const std::string& bytes) {
  const auto self = shared_from_this();  // The callback may release the watch.
  v1::StoreWatchResponse response;
  if (!response.ParseFromString(bytes)) return failed("musterd's answer cannot be decoded");
  in_force();
  const auto revision = static_cast<std::int64_t>(response.revision());
  const bool reset = response.reset();
  if (!response.history().empty()) history_ = response.history();
  const auto events = requests_.events(std::move(response), after());
  if (reset) {
    advance(revision);
    reset_at(after());
    if (closed()) return;
  }
  for (const WatchEvent& event : events) {
    deliver(event);
    if (closed()) return;
  }
  if (!events.empty()) advance(*remote::to_number(events.back().cursor));
  advance(revision);
}

}  // namespace muster::musterd
