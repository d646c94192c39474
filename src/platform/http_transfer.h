#pragma once

#include <curl/curl.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "platform/http_client.h"

namespace muster::http {

/// One request on its way: what libcurl calls back into, and what became of it.
/// The HTTP client's thread only; must not move while libcurl holds it.
class Transfer {
 public:
  /// The deadline, and a number that tells equal deadlines apart.
  using Id = std::pair<MonoTime, std::uint64_t>;

  Transfer(Id id, HttpRequest request, HttpClient::Answered done)
      : id_(id), request_(std::move(request)), done_(std::move(done)) {}
  ~Transfer() { curl_slist_free_all(headers_); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Sets every option of a fresh or reset handle.
  void prepare(CURL* easy, const HttpClient::Options& options);

  [[nodiscard]] CURL* easy() const { return easy_; }
  [[nodiscard]] Id id() const { return id_; }

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

  const Id id_;
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
