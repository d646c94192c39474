#include "store/etcd/verdict.h"

#include <array>
#include <string_view>

namespace muster::etcd {
namespace {

using rpc::Code;

/// Answers that etcd gives before it touches anything, told apart by their text because several
/// share one status code with answers that come after the fact.
struct Known {
  std::string_view text;
  Reaction reaction;
  Errc code;
  std::string_view advice;
};

constexpr std::array kUntouched = {
    // Refused on arrival, before the request reaches Raft; another member may well serve it.
    Known{"etcdserver: no leader", Reaction::kTryAgain, Errc::kUnavailable,
          "this etcd member sees no leader"},
    Known{"etcdserver: not capable", Reaction::kTryAgain, Errc::kUnavailable,
          "this etcd member is still starting"},
    Known{"etcdserver: rpc not supported for learner", Reaction::kTryAgain, Errc::kUnavailable,
          "this member is a learner"},
    Known{"etcdserver: too many requests", Reaction::kFail, Errc::kThrottled, "etcd is overloaded"},
    Known{"etcdserver: invalid auth token", Reaction::kReauthenticate, Errc::kDenied,
          "etcd no longer accepts the token that it issued"},
    // Found when the request is applied, still before it changes anything.
    Known{"etcdserver: revision of auth store is old", Reaction::kReauthenticate, Errc::kDenied,
          "users or roles have changed"},
    Known{"etcdserver: permission denied", Reaction::kFail, Errc::kDenied,
          "the etcd user has no permission for keys under this prefix"},
    Known{"etcdserver: user name is empty", Reaction::kReauthenticate, Errc::kDenied,
          "etcd requires a user and a password"},
    Known{"etcdserver: authentication is not enabled", Reaction::kFail, Errc::kUnsupported,
          "this etcd uses no passwords; remove user and password from its address"},
    Known{"etcdserver: user name not found", Reaction::kFail, Errc::kDenied,
          "etcd has no such user"},
    Known{"etcdserver: authentication failed, invalid user ID or password", Reaction::kFail,
          Errc::kDenied, "user or password is wrong"},
    Known{"etcdserver: request is too large", Reaction::kFail, Errc::kInvalid,
          "the request exceeds etcd's limit (--max-request-bytes, default: 1.5 MiB)"},
    Known{"etcdserver: corrupt cluster", Reaction::kFail, Errc::kCorrupt,
          "etcd has raised its CORRUPT alarm"},
    Known{"etcdserver: mvcc: required revision has been compacted", Reaction::kFail,
          Errc::kUnavailable,
          "the list took longer than etcd keeps its history: list from the "
          "start"},
    Known{"etcdserver: mvcc: required revision is a future revision", Reaction::kFail,
          Errc::kCorrupt, "etcd has gone back in time"},
    // Changes of the cluster itself.
    Known{"etcdserver: unhealthy cluster", Reaction::kFail, Errc::kUnavailable,
          "not all etcd members have been connected for the last five seconds"},
    Known{"etcdserver: re-configuration failed due to not enough started members", Reaction::kFail,
          Errc::kUnavailable, "too few etcd members run to change the cluster"},
    Known{"etcdserver: can only promote a learner member which is in sync with leader",
          Reaction::kFail, Errc::kUnavailable, "the new member is still catching up"},
    Known{"etcdserver: too many learner members in cluster", Reaction::kFail, Errc::kThrottled,
          "another member is being added; add one at a time"},
    Known{"etcdserver: member not found", Reaction::kFail, Errc::kNotFound,
          "there is no such member"},
    Known{"etcdserver: Peer URLs already exists", Reaction::kFail, Errc::kConflict,
          "another member has that address"},
};

std::string sentence(std::string_view advice, const std::string& message) {
  return std::string(advice) + " (" + message + ")";
}

Verdict maybe_performed(Access access, const std::string& message) {
  if (access == Access::kWrite) {
    return {Reaction::kFail,
            {Errc::kAmbiguous, sentence("the write may have landed in etcd", message)}};
  }
  return {Reaction::kTryAgain, {Errc::kUnavailable, sentence("etcd does not answer", message)}};
}

}  // namespace

Verdict judge(const rpc::Outcome& outcome, Access access) {
  const std::string& message = outcome.message;
  if (outcome.word == rpc::Outcome::Word::kNeverLeft) {
    return {Reaction::kTryAgain,
            {Errc::kUnavailable,
             sentence("etcd is unreachable; check its address, and that it runs", message)}};
  }
  if (outcome.word == rpc::Outcome::Word::kNobody) return maybe_performed(access, message);
  for (const Known& known : kUntouched) {
    if (message == known.text) {
      return {known.reaction, {known.code, sentence(known.advice, message)}};
    }
  }
  if (message == "etcdserver: mvcc: database space exceeded") {
    // The member that crosses the quota applies the write first and raises the alarm after it, so
    // this answer does not say that nothing was written.
    return {Reaction::kFail,
            {access == Access::kWrite ? Errc::kAmbiguous : Errc::kUnavailable,
             sentence("etcd is full and has raised its NOSPACE alarm: compact, defragment, disarm",
                      message)}};
  }
  switch (outcome.code) {
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
      return {Reaction::kFail, {Errc::kDenied, sentence("etcd refused the caller", message)}};
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
      return {Reaction::kFail, {Errc::kInvalid, sentence("etcd refused the request", message)}};
    case Code::kUnimplemented:
      return {Reaction::kFail,
              {Errc::kUnsupported, sentence("the server does not speak etcd's v3 API", message)}};
    default:
      // "request timed out", "leader changed", "server stopped", a dropped proposal: each of these
      // can come after Raft has taken the write.
      return maybe_performed(access, message);
  }
}

}  // namespace muster::etcd
