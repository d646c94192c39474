#include "store/remote/channel.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "base/text.h"

namespace muster::remote {
namespace {

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in || text.str().empty()) {
    return {Errc::kInvalid, "cannot read " + path + ", which the TLS options name"};
  }
  return text.str();
}

Result<std::string> with_port(const std::string& host, std::string_view standard) {
  const auto colon = host.rfind(':');
  const auto bracket = host.rfind(']');
  const bool has_port =
      colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  if (!has_port) return host + ":" + std::string(standard);
  const auto port = parse_unsigned(std::string_view(host).substr(colon + 1));
  if (colon == 0 || !port || *port == 0 || *port > 65535) {
    return {Errc::kInvalid, host + " is not host:port"};
  }
  return host;
}

}  // namespace

Result<std::shared_ptr<grpc::ChannelCredentials>> credentials(const std::string& ca_file,
                                                              const std::string& cert_file,
                                                              const std::string& key_file) {
  if (cert_file.empty() != key_file.empty()) {
    return {Errc::kInvalid, "a TLS certificate and its key are given together or not at all"};
  }
  if (ca_file.empty() && cert_file.empty()) return grpc::InsecureChannelCredentials();
  for (const std::string* path : {&ca_file, &cert_file, &key_file}) {
    if (path->empty()) continue;
    if (const auto text = read_file(*path); !text) return text.error();
  }
  // The files are looked at again and again, so that a program outlives its certificate.
  constexpr unsigned kLookEverySeconds = 10;
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          key_file, cert_file, ca_file, kLookEverySeconds));
  if (!ca_file.empty()) options.watch_root_certs();
  if (!cert_file.empty()) options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

Result<std::vector<std::string>> with_ports(const std::vector<std::string>& hosts,
                                            std::string_view port) {
  std::vector<std::string> endpoints;
  for (const std::string& host : hosts) {
    auto endpoint = with_port(host, port);
    if (!endpoint) return endpoint.error();
    endpoints.push_back(std::move(*endpoint));
  }
  return endpoints;
}

}  // namespace muster::remote
