#include "server/gateway/call_line.h"

#include <utility>

namespace muster::server {

void CallLine::at_desk(std::function<void(CallDesk&)> task) {
  there_.post([desk = desk_, alive = alive_, task = std::move(task)] {
    if (!alive.expired()) task(*desk);
  });
}

CallLine::CallId CallLine::call(CallOrder order, Answered answered) {
  auto answer = std::make_shared<rpc::Payload>();
  return watch(std::move(order),
               {[answer](const rpc::Payload& message) { *answer = message; },
                [answer, answered = std::move(answered)](const rpc::RpcStatus& status) {
                  answered(status, *answer);
                }});
}

CallLine::CallId CallLine::watch(CallOrder order, Listener listener) {
  const CallId id = ++last_;
  listeners_.emplace(id, std::move(listener));
  at_desk([id, order = std::move(order)](CallDesk& desk) { desk.begin(id, order); });
  return id;
}

void CallLine::take(CallId id) {
  at_desk([id](CallDesk& desk) { desk.take(id); });
}

void CallLine::cancel(CallId id) {
  if (listeners_.erase(id) == 0) return;
  at_desk([id](CallDesk& desk) { desk.cancel(id); });
}

CallDesk::Outlet CallLine::outlet() {
  const std::weak_ptr<CallLine> weak = weak_from_this();
  Loop& here = here_;
  return {[weak, &here](CallId id, rpc::Payload message) {
            here.post([weak, id, message = std::move(message)] {
              if (const auto line = weak.lock()) line->message(id, message);
            });
          },
          [weak, &here](CallId id, rpc::RpcStatus status) {
            here.post([weak, id, status = std::move(status)] {
              if (const auto line = weak.lock()) line->ended(id, status);
            });
          }};
}

void CallLine::message(CallId id, const rpc::Payload& bytes) {
  const auto found = listeners_.find(id);
  if (found == listeners_.end()) return;
  // A copy: the listener may cancel its call.
  const auto tell = found->second.message;
  tell(bytes);
}

void CallLine::ended(CallId id, const rpc::RpcStatus& status) {
  const auto found = listeners_.find(id);
  if (found == listeners_.end()) return;
  const Listener listener = std::move(found->second);
  listeners_.erase(found);
  listener.ended(status);
}

}  // namespace muster::server
