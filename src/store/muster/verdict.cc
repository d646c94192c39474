#include "store/muster/verdict.h"

#include <utility>

namespace muster::musterd {
namespace {

using remote::Access;
using remote::Reaction;
using remote::Verdict;
using rpc::Code;
using Word = rpc::Outcome::Word;

Verdict fail(Errc code, const std::string& advice, const std::string& message) {
  return {Reaction::kFail, {code, advice + " (" + message + ")"}};
}

Verdict maybe_performed(Access access, const std::string& message) {
  if (access == Access::kWrite) {
    return fail(Errc::kAmbiguous, "the write may have landed in musterd", message);
  }
  return {Reaction::kTryAgain, {Errc::kUnavailable, "musterd does not answer (" + message + ")"}};
}

}  // namespace

Verdict judge(const rpc::Outcome& outcome, Access access) {
  const std::string& message = outcome.message;
  if (outcome.word == Word::kNeverLeft) {
    return {Reaction::kTryAgain,
            {Errc::kUnavailable,
             "musterd is unreachable; check its address, and that it runs (" + message + ")"}};
  }
  if (outcome.word == Word::kNobody) return maybe_performed(access, message);
  const std::string leader(outcome.trailers.find("leader-address"));
  const bool spoken = !outcome.trailers.find("muster-server").empty();
  switch (outcome.code) {
    case Code::kNotFound:
      return {Reaction::kFail, {Errc::kNotFound, message}};
    case Code::kAborted:
      return {Reaction::kFail, {Errc::kConflict, message}};
    case Code::kFailedPrecondition:
      // With an address it means "not by me": the request was put aside unread.
      if (leader.empty()) break;
      return {Reaction::kTryAgain,
              {Errc::kUnavailable, "this musterd is not the leader (" + message + ")"},
              leader};
    case Code::kUnavailable:
      // From musterd: nothing was changed, because nobody leads or the engine is away.
      if (!spoken) break;
      return {Reaction::kTryAgain,
              {Errc::kUnavailable, "musterd cannot serve now (" + message + ")"}};
    case Code::kResourceExhausted:
      if (!spoken) break;
      return fail(Errc::kThrottled, "musterd gets too many requests at once", message);
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
      return fail(Errc::kDenied, "musterd refused the caller", message);
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
      return fail(Errc::kInvalid, "musterd refused the request", message);
    case Code::kUnimplemented:
      return fail(Errc::kUnsupported, "the server does not offer musterd's store", message);
    case Code::kDataLoss:
      if (access == Access::kWrite) break;
      return fail(Errc::kCorrupt, "musterd's state is damaged", message);
    default:
      break;
  }
  // UNKNOWN is musterd's own word for this.
  return maybe_performed(access, message);
}

}  // namespace muster::musterd
