#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/loop.h"
#include "base/result.h"
#include "core/limits/client_limiter.h"
#include "core/limits/request_limits.h"
#include "core/security/permissions.h"
#include "rpc/call.h"
#include "server/security/audit_log.h"
#include "server/security/call_origin.h"
#include "server/security/tls_keeper.h"

namespace muster::server {

/// The one place that decides whether a call may be made: by the caller (certificate), the role
/// (permission table), the node in the request, and the rate (limits). Long calls are checked again
/// whenever a certificate may have become invalid. Refusals: PERMISSION_DENIED, RESOURCE_EXHAUSTED.
///
/// In plaintext every caller on this machine is believed, also one that claims to be a server, and
/// only limits hold: they prevent mistakes, not malice. Forwarded calls were checked by the other
/// server. Threads: loop thread only.
/// so, and limits keep out mistakes, not malice. Loop thread only.
class AccessControl {
 public:
  struct Options {
    const TlsKeeper* tls = nullptr;             ///< Null: plaintext.
    std::optional<RequestLimitOptions> limits;  ///< None: as often as they like.
    AuditLog* audit = nullptr;                  ///< Null: writes are not recorded.
    /// A request was refused because of a limit; which one.
    std::function<void(const char* reason)> on_limited = {};
    /// The position of the state, for the audit log: epoch and version.
    std::function<AuditLog::Position()> position = {};
  };
  struct Counts {
    std::uint64_t denied = 0;         ///< Calls refused for who was calling, or for whom.
    std::uint64_t limited = 0;        ///< Requests refused for being too many.
    std::uint64_t streams_ended = 0;  ///< Ended because a certificate is no longer valid.
  };

  AccessControl(Loop& loop, Options options);
  AccessControl(const AccessControl&) = delete;
  AccessControl& operator=(const AccessControl&) = delete;

  /// Call first, for every call. False: the call has been ended.
  [[nodiscard]] bool admit(const rpc::CallPtr& call);

  /// Ends a call that was let in, before a service has read it. What it was about is read for the
  /// audit log.
  void decline(const rpc::CallPtr& call, const rpc::RpcStatus& status);

  // For a call that was let in. False: it has been ended.
  [[nodiscard]] bool speaks_for(const rpc::CallPtr& call, const std::string& node_id);
  [[nodiscard]] bool registers(const rpc::CallPtr& call, const std::string& node_id,
                               const std::string& address);
  /// Counts a request about `subject`: a node, or another thing that it changes. Given back if the
  /// call ends because there is no leader.
  [[nodiscard]] bool charge(const rpc::CallPtr& call, LimitedCall what, const std::string& subject);
  /// Counts a watch until nothing of its call is left.
  [[nodiscard]] bool open_watch(const rpc::CallPtr& call);

  /// One heartbeat of a stream, which goes on without it: whether this caller may send it, and not
  /// too often.
  [[nodiscard]] Status check_beat(const rpc::CallPtr& call, const std::string& node_id);
  /// It was refused because there is no leader.
  void give_back_beat(const rpc::CallPtr& call, const std::string& node_id);

  /// One write of a stream, likewise; and how it ended, for the audit log.
  [[nodiscard]] Status check_write(const rpc::CallPtr& call);
  void wrote(const rpc::CallPtr& call, const std::string& subject, const rpc::RpcStatus& status);

  /// Whether calls of this method last and are checked again. False if there is no such method.
  [[nodiscard]] static bool lasts(const std::string& method);
  /// Ends the open calls of clients that may no longer make them.
  void recheck();
  /// Other limits from now on; none where there were none.
  void use(const RequestLimitOptions& limits);
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Lasting {
    std::weak_ptr<rpc::Call> call;
    security::Call what;
  };

  /// kDenied if the caller cannot be identified; admit() decides whether it may make the
  /// call.
  [[nodiscard]] Result<std::shared_ptr<CallOrigin>> identify(const rpc::Call& call) const;
  void refuse(const rpc::CallPtr& call, security::Call what, std::shared_ptr<CallOrigin> caller,
              const Error& error);
  [[nodiscard]] bool limited(const CallOrigin& caller) const;
  [[nodiscard]] bool take_place(const rpc::CallPtr& call, const CallOrigin& caller);
  void deny(const rpc::CallPtr& call, const Error& error);
  void count_limited(const char* reason);
  void follow(const rpc::CallPtr& call, security::Call what);
  void record(const rpc::CallPtr& call);
  void audit(const rpc::Call& call, const std::string& subject, const rpc::RpcStatus& status) const;

  Loop& loop_;
  const Options options_;
  std::optional<RequestLimits> limits_;
  ClientLimiter refusals_;  ///< How many of each caller's are recorded.
  Counts counts_;
  std::unordered_map<const rpc::Call*, Lasting> lasting_;
  Timer sweep_;
  Lifetime lifetime_;
};

}  // namespace muster::server
