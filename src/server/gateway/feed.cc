#include "server/gateway/feed.h"

#include <utility>

#include "base/text.h"
#include "server/gateway/http_status.h"
#include "server/web/event_streams.h"

namespace muster::server {

Result<FeedPosition> FeedPosition::parse(const std::string& text) {
  const auto at = text.find('@');
  const auto version = parse_unsigned(std::string_view(text).substr(0, at));
  if (!version || has_controls(text)) {
    return {Errc::kInvalid, "Last-Event-ID must be an id of an earlier event, or a version"};
  }
  return FeedPosition{*version, at == text.npos ? "" : text.substr(at + 1)};
}

std::string FeedPosition::text() const {
  return std::to_string(version) + (history.empty() ? "" : "@" + history);
}

void Feed::start() {
  const std::weak_ptr<Feed> weak = weak_from_this();
  const auto self = shared_from_this();
  call_ =
      parts_.line.watch(watch(), {[self](const rpc::Payload& message) { self->handle(message); },
                                  [self](const rpc::RpcStatus& status) {
                                    self->call_.reset();
                                    self->end(status);
                                  }});
  parts_.exchange->on_gone([weak] {
    if (const auto here = weak.lock()) here->cancel();
  });
}

void Feed::cancel() {
  if (call_) parts_.line.cancel(*std::exchange(call_, {}));
}

void Feed::send(std::string events) {
  if (!call_) return;
  if (parts_.exchange->over()) return cancel();
  if (!std::exchange(begun_, true)) {
    http::Response head;
    head.type = "text/event-stream";
    head.headers = {{"X-Accel-Buffering", "no"}};
    parts_.begin(std::move(head));
    // HEAD has its whole answer now.
    if (parts_.exchange->over()) return cancel();
    events.insert(0, "retry: 1000\n\n");
  }
  if (!events.empty()) parts_.exchange->write(http::body(std::move(events)));
  parts_.exchange->on_taken([weak = weak_from_this()] {
    const auto here = weak.lock();
    if (here && here->call_) here->parts_.line.take(*here->call_);
  });
}

void Feed::end(const rpc::RpcStatus& status) {
  cancel();
  if (parts_.exchange->over()) return;
  if (!begun_) return parts_.refuse(status);
  parts_.exchange->write(http::body(event_text("end", error_json(status))));
  parts_.exchange->end();
}

std::string Feed::event(const std::string& name, const Json& data) const {
  return "id: " + position_.text() + "\n" + event_text(name, data);
}

std::string Feed::keepalive() const {
  return ": keepalive\nid: " + position_.text() + "\n\n";
}

}  // namespace muster::server
