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

/// Asks at peers' addresses who is there. Loop thread only.
class PeerViews {
 public:
  PeerViews(EventLoop& loop, const TlsFiles& tls);

  /// Asks every one of `urls` (by name) and answers when all have answered or `by` has come.
  void look(const std::map<std::string, std::string>& urls, MonoTime by,
            std::function<void(std::map<std::string, PeerView>)> done);

 private:
  HttpClient http_;
};

}  // namespace muster::engine
