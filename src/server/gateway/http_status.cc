#include "server/gateway/http_status.h"

#include <algorithm>

namespace muster::server {
namespace {

using rpc::Code;

/// Retry-After counts seconds.
std::int64_t whole_seconds(Duration wait) {
  return std::max<std::int64_t>(1, (to_ms(wait) + 999) / 1000);
}

}  // namespace

int http_status(Code code) {
  switch (code) {
    case Code::kOk:
      return 200;
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
      return 400;
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
      return 403;
    case Code::kNotFound:
      return 404;
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
    case Code::kAborted:
      return 409;
    case Code::kResourceExhausted:
      return 429;
    case Code::kUnimplemented:
      return 501;
    case Code::kUnavailable:
    case Code::kCancelled:
      return 503;
    case Code::kDeadlineExceeded:
      return 504;
    case Code::kUnknown:
    case Code::kInternal:
    case Code::kDataLoss:
      break;
  }
  return 500;
}

Json error_json(const rpc::RpcStatus& status) {
  Json error{{"code", to_string(status.code)}, {"message", status.message}};
  if (status.replaced) error["replaced"] = true;
  if (status.retry_after > Duration(0)) error["retry_after_ms"] = to_ms(status.retry_after);
  return {{"error", std::move(error)}};
}

http::Response error_response(const rpc::RpcStatus& status) {
  http::Response response = http::json_response(http_status(status.code), dump(error_json(status)));
  const bool again = response.status == 429 || response.status == 503;
  if (again) {
    response.headers.emplace_back("Retry-After", std::to_string(whole_seconds(status.retry_after)));
  }
  return response;
}

}  // namespace muster::server
