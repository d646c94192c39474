#include "store/etcd/access_probe.h"

#include <utility>

namespace muster::etcd {
namespace {

/// What a member says before it hangs up may be lost on the way.
constexpr int kRounds = 5;
constexpr Duration kPause = 200ms;
constexpr Duration kPatience = 1s;

HttpRequest question(const std::string& member, MonoTime by) {
  HttpRequest request;
  request.url = member + "/health";
  request.by = by;
  request.direct = true;
  request.tell_refusals = true;
  return request;
}

Error wants_tls() {
  return {Errc::kDenied,
          "etcd uses TLS, but its address names no TLS files; add ?cacert=FILE&cert=FILE&key=FILE "
          "to the address"};
}

Error wants_other_files(const std::string& reason) {
  return {Errc::kDenied, "cannot connect to etcd at " + reason +
                             "; check cacert, cert and key in its address, and which CA issued "
                             "them"};
}

}  // namespace

AccessProbe::AccessProbe(EventLoop& loop, Address address)
    : loop_(loop),
      address_(std::move(address)),
      tls_(address_.names_files()),
      pause_(loop),
      http_(loop, {address_.tls.ca, address_.tls.cert, address_.tls.key, true}) {
  std::erase_if(address_.endpoints,
                [](const std::string& each) { return each.starts_with("unix:"); });
}

void AccessProbe::start(Callback<Done> done) {
  done_ = std::move(done);
  if (address_.endpoints.empty()) return end(Done{});
  ask_all();
}

void AccessProbe::ask_all() {
  waiting_ = address_.endpoints.size();
  for (const std::string& endpoint : address_.endpoints) {
    http_.send(question((tls_ ? "https://" : "http://") + endpoint, loop_.now() + kPatience),
               [this](const Result<HttpResponse>& answer) { heard(answer); });
  }
}

void AccessProbe::heard(const Result<HttpResponse>& answer) {
  if (!done_) return;
  const bool expected = tls_ == address_.names_files();
  if (answer && expected) return end(Done{});
  if (answer || answer.is(Errc::kDenied)) {
    refusal_ = expected ? wants_other_files(answer.error().message) : wants_tls();
  }
  if (--waiting_ > 0) return;
  if (refusal_) return end(*refusal_);
  if (++rounds_ == kRounds) return end(Done{});
  tls_ = true;
  pause_.arm(kPause, [this] { ask_all(); });
}

void AccessProbe::end(const Status& status) {
  std::exchange(done_, {})(status);
}

}  // namespace muster::etcd
