#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "platform/http/message.h"
#include "server/web/api.h"

namespace {

using namespace muster;
using namespace muster::server;

/// Nothing asks it for more than the time.
class StillLoop final : public Loop {
 public:
  [[nodiscard]] MonoTime now() const override { return {}; }
  [[nodiscard]] WallTime wall_now() const override { return {}; }
  void post(Task) override {}
  TimerId at(MonoTime, Task) override { return 1; }
  void cancel(TimerId) override {}
};

class Asked final : public http::Exchange {
 public:
  explicit Asked(http::Request request) : request_(std::move(request)) {}
  [[nodiscard]] const http::Request& request() const override { return request_; }
  void reply(http::Response response) override { answer = std::move(response); }
  void stream(http::Response head) override { answer = std::move(head); }
  void write(const http::Body&) override {}
  void end() override {}
  void on_taken(std::function<void()>) override {}
  void on_gone(std::function<void()>) override {}
  [[nodiscard]] bool over() const override { return answer.has_value(); }
  std::optional<http::Response> answer;

 private:
  http::Request request_;
};

NodeRow row(const std::string& id, membership::NodeState state, std::uint32_t weight) {
  NodeRow made;
  made.id = id;
  made.state = state;
  made.weight = weight;
  return made;
}

}  // namespace

// What a reader may ask over HTTP, the plan of a ring first: two bytes of the ring's configuration
// and a node's weight, then the query. Each is answered once, in order or with a refusal.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static StillLoop loop;
  static const Metrics metrics;
  auto picture = std::make_shared<Picture>();
  picture->ring = {data[0] % 4U, data[1] % 5U, {}};
  // The heaviest that may be registered, and a light one.
  picture->nodes = std::make_shared<const std::vector<NodeRow>>(std::vector{
      row("n1", membership::NodeState::kActive, 1), row("n2", membership::NodeState::kDown, 1),
      row("n3", membership::NodeState::kSuspect, data[0] % 64U)});
  Api api({.loop = loop,
           .ask = [&](const Query&, const std::function<void(PicturePtr)>& done) { done(picture); },
           .listeners = [](std::size_t) {},
           .metrics = metrics,
           .answered = [](const std::string&, int) {}});
  const std::string_view query(reinterpret_cast<const char*>(data + 2), size - 2);
  for (const char* path : {"/api/ring/plan", "/api/nodes", "/api/decisions", "/api/series"}) {
    std::string bytes =
        std::string("GET ") + path + "?" + std::string(query) + " HTTP/1.1\r\nHost: h\r\n\r\n";
    auto parsed = http::take_request(bytes);
    if (!parsed.request) continue;
    const auto asked = std::make_shared<Asked>(std::move(*parsed.request));
    api.handle(asked);
    MUSTER_CHECK(asked->answer.has_value());
    const int status = asked->answer->status;
    MUSTER_CHECK(status == 200 || status == 400 || status == 404);
    MUSTER_CHECK(asked->answer->content != nullptr && !asked->answer->content->empty());
  }
  return 0;
}
