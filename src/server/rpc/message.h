#pragma once

#include <google/protobuf/message_lite.h>

#include <string>
#include <utility>

#include "rpc/call.h"

namespace muster::rpc {

[[nodiscard]] inline Payload to_payload(const google::protobuf::MessageLite& message) {
  return payload(message.SerializeAsString());
}

inline void reply(const CallPtr& call, const google::protobuf::MessageLite& message) {
  call->reply(to_payload(message));
}

/// The message in `bytes`; ends the call and returns false when it is none.
[[nodiscard]] inline bool parse(const CallPtr& call, const std::string& bytes,
                                google::protobuf::MessageLite& message) {
  if (message.ParseFromString(bytes)) return true;
  call->finish({Code::kInvalidArgument, "the request is not a " + message.GetTypeName(), {}});
  return false;
}

/// Parses what was read of a call and hands both on.
template <typename Request, typename F>
[[nodiscard]] auto as_request(CallPtr call, F then) {
  return [call = std::move(call), then = std::move(then)](std::optional<std::string> bytes) {
    Request request;
    if (!bytes) {
      return call->finish({Code::kInvalidArgument, "the request is missing", {}});
    }
    if (parse(call, *bytes, request)) then(call, std::move(request), *bytes);
  };
}

/// Reads the only message of a call, once its client has ended its side, and hands both on.
template <typename Request, typename F>
void read_request(const CallPtr& call, F then) {
  call->read_single(as_request<Request>(call, std::move(then)));
}

/// The same for a call that lasts: earlier clients leave their side open.
template <typename Request, typename F>
void read_opening(const CallPtr& call, F then) {
  call->read(as_request<Request>(call, std::move(then)));
}

}  // namespace muster::rpc
