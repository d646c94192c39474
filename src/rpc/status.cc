#include "rpc/status.h"

namespace muster::rpc {
namespace {

Code to_code(Errc code) {
  switch (code) {
    case Errc::kNotFound:
      return Code::kNotFound;
    case Errc::kUnchanged:
      return Code::kOk;
    case Errc::kConflict:
      return Code::kFailedPrecondition;
    case Errc::kAmbiguous:
      return Code::kUnknown;
    case Errc::kThrottled:
      return Code::kResourceExhausted;
    case Errc::kUnavailable:
      return Code::kUnavailable;
    case Errc::kDenied:
      return Code::kPermissionDenied;
    case Errc::kUnsupported:
      return Code::kUnimplemented;
    case Errc::kInvalid:
      return Code::kInvalidArgument;
    case Errc::kCorrupt:
      return Code::kDataLoss;
    case Errc::kCancelled:
      return Code::kCancelled;
  }
  return Code::kInternal;
}

}  // namespace

const char* to_string(Code code) {
  switch (code) {
    case Code::kOk:
      return "OK";
    case Code::kCancelled:
      return "CANCELLED";
    case Code::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case Code::kNotFound:
      return "NOT_FOUND";
    case Code::kAlreadyExists:
      return "ALREADY_EXISTS";
    case Code::kPermissionDenied:
      return "PERMISSION_DENIED";
    case Code::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case Code::kAborted:
      return "ABORTED";
    case Code::kOutOfRange:
      return "OUT_OF_RANGE";
    case Code::kUnimplemented:
      return "UNIMPLEMENTED";
    case Code::kInternal:
      return "INTERNAL";
    case Code::kUnavailable:
      return "UNAVAILABLE";
    case Code::kDataLoss:
      return "DATA_LOSS";
    case Code::kUnauthenticated:
      return "UNAUTHENTICATED";
    case Code::kUnknown:
      break;
  }
  return "UNKNOWN";
}

RpcStatus to_status(const Error& error) {
  return {to_code(error.code), error.message, {}, error.retry_after};
}

Error to_error(const RpcStatus& status) {
  // Most codes have one meaning of ours; what is left may or may not have happened.
  for (const Errc code : {Errc::kNotFound, Errc::kConflict, Errc::kThrottled, Errc::kUnavailable,
                          Errc::kDenied, Errc::kUnsupported, Errc::kInvalid, Errc::kCorrupt}) {
    if (to_code(code) == status.code) return {code, status.message, status.retry_after};
  }
  return {Errc::kAmbiguous, status.message};
}

}  // namespace muster::rpc
