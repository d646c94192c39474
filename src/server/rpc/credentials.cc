#include "server/rpc/credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace muster::rpc {
namespace {

using grpc::experimental::TlsCustomVerificationCheckRequest;
using Question = std::function<Status(std::string_view pem)>;

constexpr const char* kSuitesVariable = "GRPC_SSL_CIPHER_SUITES";
/// For TLS 1.2, a suite of keys shared beforehand, of which there are none: nothing of TLS 1.2 can
/// be agreed on. The suites of TLS 1.3 are not subject to this list.
constexpr const char* kNoTls12 = "PSK-AES256-GCM-SHA384";

/// As often as gRPC can be told to look.
constexpr unsigned kLookEverySeconds = 1;

/// Asks our own question after the handshake, and for servers gRPC's about the host's name.
class Verifier final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  Verifier(Question verify, bool check_host) : verify_(std::move(verify)) {
    if (check_host) {
      host_ = std::make_unique<grpc::experimental::HostNameCertificateVerifier>();
    }
  }

  bool Verify(TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)> callback, grpc::Status* status) override {
    const grpc::string_ref pem = request->peer_cert();
    if (const Status own = verify_({pem.data(), pem.size()}); !own) {
      *status = {grpc::StatusCode::UNAUTHENTICATED, own.error().message};
      return true;
    }
    if (!host_) return true;
    return host_->Verify(request, std::move(callback), status);
  }
  void Cancel(TlsCustomVerificationCheckRequest*) override {}

 private:
  const Question verify_;
  std::unique_ptr<grpc::experimental::HostNameCertificateVerifier> host_;
};

template <typename Options>
void fill(Options& options, const Question& verify, bool check_host) {
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(
      grpc::experimental::ExternalCertificateVerifier::Create<Verifier>(verify, check_host));
}

}  // namespace

void require_tls13() {
  ::setenv(kSuitesVariable, kNoTls12, 1);
}

Credentials plaintext() {
  return {grpc::InsecureServerCredentials(), grpc::InsecureChannelCredentials()};
}

Credentials tls(const RpcTls& tls) {
  const char* suites = std::getenv(kSuitesVariable);
  if (suites == nullptr || std::string_view(suites) != kNoTls12) return {};
  const auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      tls.identity_file, tls.identity_file, tls.authorities_file, kLookEverySeconds);
  grpc::experimental::TlsServerCredentialsOptions server(provider);
  fill(server, tls.verify_client, false);
  server.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  grpc::experimental::TlsChannelCredentialsOptions channel;
  channel.set_certificate_provider(provider);
  fill(channel, tls.verify_server, true);
  return {grpc::experimental::TlsServerCredentials(server),
          grpc::experimental::TlsCredentials(channel)};
}

}  // namespace muster::rpc
