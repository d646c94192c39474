#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "base/time.h"

namespace muster {

class EventLoop;

struct HttpRequest {
  std::string method = "GET";
  std::string url;  ///< http or https, percent-encoded; sent exactly as it stands here.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  MonoTime by;
  /// A write. When a reused connection breaks before a byte of the answer, a request is sent again,
  /// once, on a fresh connection; with this it fails as kAmbiguous instead.
  bool once = false;
  /// Straight to the host, whatever proxy the environment names (http_proxy, https_proxy, all_proxy
  /// and no_proxy, as in other programs); for link-local services.
  bool direct = false;
  /// Where TLS itself says so, a host that does not take our certificate, or whose own we do not
  /// believe, is kDenied. With TLS 1.3 the former is heard in the place of an answer, if at all: a
  /// connection that is reset may lose it.
  bool tell_refusals = false;
  std::size_t answer_bytes_max = std::size_t{64} << 20;
};

struct HttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  ///< Names in lower case.
  std::string body;

  /// The value of the first header of that (lower-case) name; empty when there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

/// HTTP/1.1 on the owner's loop; connections are kept and used again, for a while. Only the names
/// of hosts are looked up elsewhere, each by one thread that ends with it: a name server that hangs
/// holds up nobody. Certificates and authorities are read from their files for each new connection,
/// and may change; those of the system are read once a day, or when their file has changed.
///
/// Any answer with a status is a success here, whatever the status; redirects are not followed.
/// Failures are told apart by what they leave behind: kUnavailable when the request was certainly
/// never sent (no such host, refused, TLS handshake failed, deadline before the connection),
/// kAmbiguous when it may have been, kCorrupt when the answer is larger than allowed, kDenied where
/// HttpRequest::tell_refusals says so. Each request ends by its deadline, which passes during
/// suspend too. Messages hold the host, never a path, a header or a body.
///
/// At most `in_flight_max` requests run at a time and `waiting_max` more wait their turn; beyond
/// that a request fails with kUnavailable at once. Completions are posted to the loop, one for each
/// request; destroying the client breaks off what runs, and nothing is called after that. A
/// completion may destroy the client.
///
/// Loop thread only. The loop must outlive the client.
class HttpClient {
 public:
  struct Options {
    std::string ca_file;  ///< PEM; empty for the system's certificates.
    /// PEM: the client certificate for servers that ask. Both or neither.
    std::string cert_file{};
    std::string key_file{};
    bool tls13_only = false;  ///< Otherwise TLS 1.2 will do, as some object stores need it.
    std::size_t in_flight_max = 64;
    std::size_t waiting_max = 1024;
    /// A connection that nobody uses is closed after so long: before most servers do, as a request
    /// that meets their closing is lost.
    Duration idle_max = 45s;
  };
  using Answered = std::function<void(Result<HttpResponse>)>;

  explicit HttpClient(EventLoop& loop) : HttpClient(loop, Options{}) {}
  HttpClient(EventLoop& loop, Options options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void send(HttpRequest request, Answered done);

 private:
  class Transfers;

  EventLoop& loop_;
  const std::size_t outstanding_max_;
  std::size_t outstanding_ = 0;
  Lifetime lifetime_;
  std::unique_ptr<Transfers> transfers_;
};

}  // namespace muster
