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
