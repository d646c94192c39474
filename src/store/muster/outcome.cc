#include "store/muster/outcome.h"

#include <grpc/status.h>

#include <utility>

namespace muster::musterd {
namespace {

using remote::Outcome;
using remote::Reaction;
using remote::Stage;

Outcome fail(Errc code, const std::string& advice, const std::string& message) {
  return {Reaction::kFail, {code, advice + " (" + message + ")"}};
}

Outcome maybe_performed(Stage stage, const std::string& message) {
  if (stage == Stage::kWriteSent) {
    return fail(Errc::kAmbiguous, "the write may have landed in musterd", message);
  }
  return {Reaction::kTryAgain, {Errc::kUnavailable, "musterd does not answer (" + message + ")"}};
}

}  // namespace

Outcome judge(const Failure& failure, Stage stage) {
  const auto& [code, message, leader, spoken] = failure;
  if (stage == Stage::kUnsent) {
    return {Reaction::kTryAgain,
            {Errc::kUnavailable,
             "musterd cannot be reached; check its address, and that it runs (" + message + ")"}};
  }
  switch (code) {
    case GRPC_STATUS_NOT_FOUND:
      return {Reaction::kFail, {Errc::kNotFound, message}};
    case GRPC_STATUS_ABORTED:
      return {Reaction::kFail, {Errc::kConflict, message}};
    case GRPC_STATUS_FAILED_PRECONDITION:
      // With an address it means "not by me": the request was put aside unread.
      if (leader.empty()) break;
      return {Reaction::kTryAgain,
              {Errc::kUnavailable, "this musterd does not lead (" + message + ")"},
              leader};
    case GRPC_STATUS_UNAVAILABLE:
      // From musterd: nothing was changed, because nobody leads or the engine is away. From gRPC:
      // the connection broke with the request on it.
      if (!spoken) break;
      return {Reaction::kTryAgain,
              {Errc::kUnavailable, "musterd cannot serve now (" + message + ")"}};
    case GRPC_STATUS_RESOURCE_EXHAUSTED:
      if (!spoken) break;
      return fail(Errc::kThrottled, "musterd is asked for too much at once", message);
    case GRPC_STATUS_PERMISSION_DENIED:
    case GRPC_STATUS_UNAUTHENTICATED:
      return fail(Errc::kDenied, "musterd refused the caller", message);
    case GRPC_STATUS_INVALID_ARGUMENT:
    case GRPC_STATUS_OUT_OF_RANGE:
      return fail(Errc::kInvalid, "musterd refused the request", message);
    case GRPC_STATUS_UNIMPLEMENTED:
      return fail(Errc::kUnsupported, "the server does not offer musterd's store", message);
    case GRPC_STATUS_DATA_LOSS:
      if (stage == Stage::kWriteSent) break;
      return fail(Errc::kCorrupt, "musterd has found its state damaged", message);
    default:
      break;
  }
  // UNKNOWN is musterd's own word for this.
  return maybe_performed(stage, message);
}

}  // namespace muster::musterd
