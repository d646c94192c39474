#include "server/web/event_streams.h"

#include <utility>

namespace muster::server {

std::string event_text(const std::string& name, const Json& data, std::uint64_t id) {
  std::string text = "event: " + name + "\n";
  if (id != 0) text += "id: " + std::to_string(id) + "\n";
  return text + "data: " + dump(data) + "\n\n";
}

void EventStreams::add(http::ExchangePtr exchange, const Picture& picture, std::uint64_t has) {
  http::Response head;
  head.type = "text/event-stream";
  head.headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  exchange->stream(head);
  std::string text = "retry: 1000\n\n";
  text += event_text("hello",
                     {{"server", picture.overview.server}, {"version", picture.overview.version}});
  // Numbers of another log, or those that nobody has any more, lead on to nothing.
  const bool gap = has + 1 < picture.oldest_decision || has > picture.newest_decision;
  if (has != 0 && gap) {
    text += event_text("reset", Json::object(), picture.newest_decision);
  } else if (has != 0) {
    for (const auto& each : picture.decisions) {
      text += event_text("decision", to_json(*each), each->seq);
    }
  }
  text += event_text("overview", to_json(picture.overview));
  exchange->write(http::body(std::move(text)));
  if (!exchange->over()) streams_.push_back(std::move(exchange));
}

void EventStreams::update(const Update& update, const Shares& shares) {
  std::string text;
  if (update.reset) text += event_text("reset", Json::object());
  for (const auto& each : update.decisions) {
    text += event_text("decision", to_json(*each), each->seq);
  }
  if (!update.upserts.empty() || !update.removed.empty()) {
    Json rows = Json::array();
    for (const NodeRow& row : update.upserts) rows.push_back(to_json(row, shares));
    text += event_text(
        "change",
        {{"version", update.version}, {"upserts", std::move(rows)}, {"removed", update.removed}});
  }
  if (update.overview) text += event_text("overview", to_json(*update.overview));
  if (update.sample) text += event_text("sample", to_json(*update.sample));
  if (text.empty()) return;
  const http::Body body = http::body(std::move(text));
  for (const http::ExchangePtr& stream : streams_) stream->write(body);
}

void EventStreams::sweep(const std::function<Status(const http::Request&)>& authorize) {
  // A stream that is let go of is closed.
  std::erase_if(streams_, [&](const http::ExchangePtr& each) {
    return each->over() || (authorize && !authorize(each->request()));
  });
}

}  // namespace muster::server
