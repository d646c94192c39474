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

/// Asks the members of an etcd whether they let this process in, before anything relies on them.
/// To a client a member that refuses a certificate, or whose own is refused, is one that cannot be
/// reached, and is waited for; nobody would hear that there is something to be done.
///
/// Guarantees: kDenied, with what to check, only when no member lets us in and one has shown by TLS
/// itself that it will not. Does not guarantee the opposite: members that do not answer, or that
/// hang up without a word, say nothing, and are asked for a second. Sockets are not asked.
///
/// Loop thread only. Destroying it breaks off what runs.
class AccessProbe {
 public:
  AccessProbe(EventLoop& loop, Address address);
  AccessProbe(const AccessProbe&) = delete;
  AccessProbe& operator=(const AccessProbe&) = delete;

  /// Once.
  void start(Callback<Done> done);

 private:
  void ask_all();
  void heard(const Result<HttpResponse>& answer);
  void end(const Status& status);

  EventLoop& loop_;
  Address address_;
  Callback<Done> done_;
  int rounds_ = 0;
  bool tls_;  ///< Who did not answer in plaintext is asked whether it speaks TLS.
  std::size_t waiting_ = 0;
  std::optional<Error> refusal_;
  Timer pause_;
  HttpClient http_;
};

}  // namespace muster::etcd
