#include "platform/pki/tls_probe.h"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

#include "platform/pki/openssl.h"
#include "platform/pki/socket_bio.h"
#include "platform/pki/tls.h"
#include "platform/system_clock.h"
#include "platform/unique_fd.h"

namespace muster::pki {
namespace {

/// What a client of HTTP/2 sends first (RFC 9113, 3.4), with an empty SETTINGS frame: a server that
/// accepts this side answers with its own.
constexpr std::string_view kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
constexpr unsigned char kProtocols[] = {2, 'h', '2'};

bool await(int fd, short events, MonoTime by) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(by - boot_now()).count();
  pollfd waiting{fd, events, 0};
  return left > 0 && ::poll(&waiting, 1, static_cast<int>(left)) == 1;
}

/// Host and port, without the brackets of an IPv6 address.
std::pair<std::string, std::string> parts(const std::string& server) {
  const std::size_t colon = server.rfind(':');
  std::string host = server.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return {host, colon == std::string::npos ? std::string() : server.substr(colon + 1)};
}

/// Notes if the server accepted a connection and closed it at once.
UniqueFd connect_to(const std::string& host, const std::string& port, MonoTime by,
                    TlsFindings& findings) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  for (const addrinfo* each = all.get(); each != nullptr; each = each->ai_next) {
    UniqueFd fd(::socket(each->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd.valid()) continue;
    if (::connect(fd.get(), each->ai_addr, each->ai_addrlen) != 0 && errno != EINPROGRESS) continue;
    int error = 0;
    socklen_t size = sizeof error;
    if (await(fd.get(), POLLOUT, by) &&
        ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
      return fd;
    }
    if (error == ECONNRESET) findings.answer = TlsFindings::Answer::kClosed;
  }
  return {};
}

using Context = Owned<SSL_CTX, SSL_CTX_free>;
using Connection = Owned<SSL, SSL_free>;

/// Repeats an operation of OpenSSL until it is done; what it ended with otherwise.
template <typename Operation>
int finish(SSL* connection, MonoTime by, Operation operation) {
  for (;;) {
    ERR_clear_error();
    const int result = operation();
    if (result > 0) return SSL_ERROR_NONE;
    const int why = SSL_get_error(connection, result);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return why;
    const short events = why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    if (!await(SSL_get_fd(connection), events, by)) return why;
  }
}

/// Dates are told apart from trust: a certificate that has expired is of a known authority or not.
int ignore_dates(int good, X509_STORE_CTX* chain) {
  const int error = X509_STORE_CTX_get_error(chain);
  if (error != X509_V_ERR_CERT_HAS_EXPIRED && error != X509_V_ERR_CERT_NOT_YET_VALID) return good;
  X509_STORE_CTX_set_error(chain, X509_V_OK);
  return 1;
}

bool holds_name(X509* certificate, const std::string& host) {
  if (X509_check_ip_asc(certificate, host.c_str(), 0) == 1) return true;
  return X509_check_host(certificate, host.data(), host.size(), 0, nullptr) == 1;
}

void look_at(SSL* connection, SSL_CTX* context, const std::string& host, TlsFindings& findings) {
  X509* shown = SSL_get0_peer_certificate(connection);
  if (shown == nullptr || X509_up_ref(shown) != 1) return;
  const auto certificate = Certificate::adopt(shown);
  if (!certificate) return;
  findings.certificate = certificate->facts();
  findings.name_holds = holds_name(shown, host);
  const Owned<X509_STORE_CTX, X509_STORE_CTX_free> chain(X509_STORE_CTX_new());
  if (chain && X509_STORE_CTX_init(chain.get(), SSL_CTX_get_cert_store(context), shown,
                                   SSL_get_peer_cert_chain(connection)) == 1) {
    X509_STORE_CTX_set_verify_cb(chain.get(), ignore_dates);
    findings.trusted = X509_verify_cert(chain.get()) == 1;
  }
}

/// What the last failure says of the server.
void judge_failure(TlsFindings& findings) {
  const unsigned long error = ERR_peek_last_error();
  const int reason = ERR_GET_REASON(error);
  if (ERR_GET_LIB(error) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET) {
    findings.answer = TlsFindings::Answer::kRefused;
    findings.alert = SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET);
  } else if (findings.certificate) {
    findings.answer = TlsFindings::Answer::kRefused;
  } else if (ERR_GET_LIB(error) == ERR_LIB_SSL && reason != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    findings.answer = TlsFindings::Answer::kPlaintext;
  } else {
    findings.answer = TlsFindings::Answer::kClosed;
  }
  ERR_clear_error();
}

/// Reads the first frames of HTTP/2 (RFC 9113, 4.1): whether one of them ends the connection.
void judge_frames(std::string_view bytes, TlsFindings& findings) {
  constexpr std::size_t kHead = 9;
  constexpr std::size_t kErrors = 8;  // Of a GOAWAY frame, before its words.
  constexpr char kGoaway = 7;
  findings.answer = TlsFindings::Answer::kTls;
  while (bytes.size() >= kHead) {
    std::size_t size = 0;
    for (const char c : bytes.substr(0, 3)) size = size << 8U | static_cast<unsigned char>(c);
    const char kind = bytes[3];
    bytes.remove_prefix(kHead);
    const std::string_view content = bytes.substr(0, size);
    if (kind == kGoaway && content.size() >= kErrors) {
      findings.answer = TlsFindings::Answer::kSentAway;
      for (const char c : content.substr(kErrors)) {
        if (c >= 0x20 && c < 0x7f) findings.farewell.push_back(c);
      }
      return;
    }
    bytes.remove_prefix(content.size());
  }
}

}  // namespace

TlsFindings probe_tls(const std::string& server, const TlsTexts& brought, Duration limit) {
  const MonoTime by = boot_now() + limit;
  TlsFindings findings;
  const auto [host, port] = parts(server);
  const UniqueFd fd = connect_to(host, port, by, findings);
  const Context context(SSL_CTX_new(TLS_client_method()));
  if (!fd.valid() || !context || !fill_tls_context(*context, brought)) return findings;
  findings.answer = TlsFindings::Answer::kNone;
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  const Connection connection(SSL_new(context.get()));
  BIO* socket = connection ? new_socket_bio(fd.get()) : nullptr;
  if (socket == nullptr) return findings;
  SSL_set_bio(connection.get(), socket, socket);
  SSL_set_alpn_protos(connection.get(), kProtocols, sizeof kProtocols);
  SSL_set_tlsext_host_name(connection.get(), host.c_str());
  SSL* ssl = connection.get();
  const int shaken = finish(ssl, by, [ssl] { return SSL_connect(ssl); });
  look_at(ssl, context.get(), host, findings);
  if (shaken == SSL_ERROR_WANT_READ || shaken == SSL_ERROR_WANT_WRITE) return findings;
  if (shaken != SSL_ERROR_NONE) {
    judge_failure(findings);
    return findings;
  }
  // In TLS 1.3 the server looks at this side's certificate after this side is done.
  static_cast<void>(finish(ssl, by, [ssl] {
    return SSL_write(ssl, kPreface.data(), static_cast<int>(kPreface.size()));
  }));
  std::array<char, 4096> answer{};
  int size = 0;
  const int answered = finish(ssl, by, [ssl, &answer, &size] {
    size = SSL_read(ssl, answer.data(), static_cast<int>(answer.size()));
    return size;
  });
  if (answered == SSL_ERROR_NONE) {
    judge_frames({answer.data(), static_cast<std::size_t>(size)}, findings);
  } else if (answered != SSL_ERROR_WANT_READ && answered != SSL_ERROR_WANT_WRITE) {
    judge_failure(findings);
  }
  return findings;
}

}  // namespace muster::pki
