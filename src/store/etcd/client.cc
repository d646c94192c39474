#include "store/etcd/client.h"

#include "etcd/rpc.pb.h"

namespace muster::etcd {
namespace {

constexpr Duration kAuthenticateTimeout = 5s;
constexpr const char* kAuthenticate = "/etcdserverpb.Auth/Authenticate";

}  // namespace

Client::Client(const ClientOptions& options, EventLoop& loop)
    : remote::Client(options, loop), user_(options.user), password_(options.password) {}

rpc::Metadata Client::metadata() const {
  // A member cut off from the others says so at once and does not let us wait.
  rpc::Metadata metadata{{"hasleader", "true"}};
  if (token_ && !token_->empty()) metadata.emplace_back("token", *token_);
  return metadata;
}

bool Client::ready(const std::string& method) {
  // Logging in needs no token; everything else does where a user is named.
  if (user_.empty() || token_ || method == kAuthenticate) return true;
  authenticate();
  return false;
}

bool Client::renew_credentials(std::uint64_t refused) {
  if (user_.empty()) return false;
  if (refused == token_number_) token_.reset();
  return true;
}

void Client::authenticate() {
  if (authenticating_) return;
  authenticating_ = true;
  etcdserverpb::AuthenticateRequest request;
  request.set_name(user_);
  request.set_password(password_);
  unary<etcdserverpb::AuthenticateResponse>(
      kAuthenticate, request, Access::kReadAhead, loop().now() + kAuthenticateTimeout,
      [this](Result<etcdserverpb::AuthenticateResponse> response) {
        authenticating_ = false;
        if (response) {
          token_ = response->token();
          ++token_number_;
        } else if (response.is(Errc::kUnsupported)) {
          token_ = "";  // Nobody is asked for a password here, so the requests go without.
          ++token_number_;
        } else if (!response.is(Errc::kUnavailable)) {
          fail_waiting(response.error());
        }
        // Requests that are left and have time are sent again.
        resume_waiting();
      });
}

}  // namespace muster::etcd
