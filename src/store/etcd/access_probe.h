#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "platform/event_loop.h"
#include "platform/http/http_client.h"
#include "store/etcd/address.h"
#include "store/store.h"

namespace muster::etcd {

/// Checks whether the members of an etcd accept this process, before anything relies on them. To a
/// client, a member that refuses a certificate, or whose own is refused, is just unreachable and is
/// waited for; an operator would not learn that there is something to do.
///
/// Guarantees: kDenied, with what to check, only if no member accepts this process and one has
/// shown by TLS itself that it never will. Not guaranteed: the opposite. Members that do not
/// answer, or that hang up without a message, are asked for a second. Unix sockets are not checked.
///
/// Threads: loop thread only. The destructor cancels a running check.
class AccessProbe {
 public:
  AccessProbe(EventLoop& loop, Address address);
  AccessProbe(const AccessProbe&) = delete;
  AccessProbe& operator=(const AccessProbe&) = delete;

  /// Call once.
  void start(Callback<Done> done);

 private:
  void ask_all();
  void heard(const Result<HttpResponse>& answer);
  void end(const Status& status);

  EventLoop& loop_;
  Address address_;
  Callback<Done> done_;
  int rounds_ = 0;
  bool tls_;  ///< Members that do not answer in plaintext are checked for TLS.
  std::size_t waiting_ = 0;
  std::optional<Error> refusal_;
  Timer pause_;
  HttpClient http_;
};

}  // namespace muster::etcd
