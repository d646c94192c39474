#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/engine/start_plan.h"
#include "platform/event_loop.h"
#include "platform/http/http_client.h"
#include "store/open/open.h"

namespace muster::engine {

/// The meaning of an answer at a peer's address; anything unexpected is silence.
[[nodiscard]] PeerView read_view(const std::string& body);

/// Queries peers' addresses. Threads: loop thread only.
class PeerViews {
 public:
  PeerViews(EventLoop& loop, const TlsFiles& tls);

  /// Queries all `urls` (by name); answers when all have answered or `by` has come.
  void look(const std::map<std::string, std::string>& urls, MonoTime by,
            std::function<void(std::map<std::string, PeerView>)> done);

 private:
  HttpClient http_;
};

}  // namespace muster::engine
