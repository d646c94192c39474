#pragma once

#include <curl/curl.h>

#include <array>
#include <string>
#include <utility>

#include "base/loop.h"
#include "platform/http_client.h"

namespace muster::http {

/// One request on its way: what libcurl calls back into, and what became of it.
/// Loop thread only; must not move while libcurl holds it.
class Transfer {
 public:
  Transfer(Loop& loop, HttpRequest request, HttpClient::Answered done)
      : deadline_(loop), request_(std::move(request)), done_(std::move(done)) {}
  ~Transfer() { curl_slist_free_all(headers_); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  [[nodiscard]] MonoTime by() const { return request_.by; }
  /// Calls `expire` at the deadline if this is still there. libcurl's own clock stands still during
  /// suspend, the loop's does not.
  void at_deadline(Loop::Task expire) { deadline_.arm(by(), std::move(expire)); }

  /// Sets every option of a fresh or reset handle.
  void prepare(CURL* easy, const HttpClient::Options& options);

  /// Null until it is prepared.
  [[nodiscard]] CURL* easy() const { return easy_; }

  [[nodiscard]] Result<HttpResponse> finish(CURLcode code);
  /// The outcome of breaking it off, running or not yet begun.
  [[nodiscard]] Error expired() const;
  [[nodiscard]] HttpClient::Answered take_done() { return std::move(done_); }

 private:
  void set_method();
  void set_headers();
  [[nodiscard]] Error failure(CURLcode code) const;
  [[nodiscard]] bool refused(CURLcode code) const;
  [[nodiscard]] std::string host() const;

  static int on_ready_to_send(void* self, char*, char*, int, int);
  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self);
  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self);

  Timer deadline_;
  HttpRequest request_;
  HttpClient::Answered done_;
  HttpResponse response_;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> detail_{};
  bool sent_ = false;
  bool too_large_ = false;
};

}  // namespace muster::http
