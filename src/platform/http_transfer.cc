#include "platform/http_transfer.h"

#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace muster::http {
namespace {

template <typename T>
void set(CURL* easy, CURLoption option, T value) {
  // Fails only for an option unknown to this libcurl or for want of memory.
  MUSTER_CHECK(curl_easy_setopt(easy, option, value) == CURLE_OK);
}

/// `file`, or the system's own where that is empty.
void set_authorities(CURL* easy, const std::string& file) {
  // Small, and read for each connection: it may have changed.
  if (!file.empty()) {
    set(easy, CURLOPT_CAINFO, file.c_str());
    set(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
  }
  // Besides a file libcurl looks in the system's directory, so that whoever names authorities would
  // get the system's as well. Nor does it keep the system's file in memory then, and reading that
  // holds up the loop for some 20 ms; as it is, once a day.
  if (!file.empty() || curl_version_info(CURLVERSION_NOW)->cainfo != nullptr) {
    set(easy, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
}

}  // namespace

void Transfer::prepare(CURL* easy, const HttpClient::Options& options) {
  easy_ = easy;
  set(easy, CURLOPT_PRIVATE, this);
  set(easy, CURLOPT_URL, request_.url.c_str());
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(easy, CURLOPT_SSLVERSION,
      static_cast<long>(options.tls13_only ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2));
  set_authorities(easy, options.ca_file);
  if (!options.cert_file.empty()) {
    set(easy, CURLOPT_SSLCERT, options.cert_file.c_str());
    set(easy, CURLOPT_SSLKEY, options.key_file.c_str());
  }
  if (request_.direct) set(easy, CURLOPT_PROXY, "");
  set(easy, CURLOPT_PATH_AS_IS, 1L);
  set(easy, CURLOPT_NOSIGNAL, 1L);
  // A resolver that hangs is left to end by itself; waiting for it would stall every transfer.
  set(easy, CURLOPT_QUICK_EXIT, 1L);
  set(easy, CURLOPT_ERRORBUFFER, detail_.data());
  set(easy, CURLOPT_PREREQFUNCTION, &Transfer::on_ready_to_send);
  set(easy, CURLOPT_PREREQDATA, this);
  set(easy, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  set(easy, CURLOPT_HEADERDATA, this);
  set(easy, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(easy, CURLOPT_WRITEDATA, this);
  set_method();
  set_headers();
}

void Transfer::set_method() {
  if (request_.method == "GET") return set(easy_, CURLOPT_HTTPGET, 1L);
  if (request_.method == "HEAD") return set(easy_, CURLOPT_NOBODY, 1L);
  set(easy_, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  if (request_.method != "PUT" && request_.method != "POST") return;
  // As post fields a small body leaves in one segment with the headers.
  set(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  set(easy_, CURLOPT_POSTFIELDS, request_.body.data());
}

void Transfer::set_headers() {
  const auto add = [this](const std::string& line) {
    curl_slist* longer = curl_slist_append(headers_, line.c_str());
    MUSTER_CHECK(longer != nullptr);
    headers_ = longer;
  };
  add("Expect:");
  bool typed = false;
  for (const auto& [name, value] : request_.headers) {
    typed = typed || to_lower(name) == "content-type";
    add(value.empty() ? name + ";" : name + ": " + value);
  }
  if (!typed) add("Content-Type:");
  set(easy_, CURLOPT_HTTPHEADER, headers_);
}

bool Transfer::refused(CURLcode code) const {
  if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM ||
      code == CURLE_SSL_CACERT_BADFILE) {
    return true;
  }
  // OpenSSL's words: an alert is what the other side sends before it closes.
  return std::string_view(detail_.data()).find(" alert ") != std::string_view::npos;
}

Result<HttpResponse> Transfer::finish(CURLcode code) {
  if (code != CURLE_OK) return failure(code);
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  response_.status = static_cast<int>(status);
  return std::move(response_);
}

Error Transfer::failure(CURLcode code) const {
  if (too_large_) {
    return {Errc::kCorrupt, "the answer of " + host() + " is larger than " +
                                std::to_string(request_.answer_bytes_max) + " bytes"};
  }
  std::string why = curl_easy_strerror(code);
  // Only here does libcurl's own text say more, and nothing of the request is in it.
  if (code == CURLE_PEER_FAILED_VERIFICATION && detail_[0] != '\0') why = detail_.data();
  if (request_.tell_refusals && refused(code)) {
    return {Errc::kDenied, host() + ": " + (detail_[0] != '\0' ? detail_.data() : why)};
  }
  if (sent_) return {Errc::kAmbiguous, "no complete answer from " + host() + ": " + why};
  return {Errc::kUnavailable, "cannot reach " + host() + ": " + why};
}

Error Transfer::expired() const {
  if (sent_) return {Errc::kAmbiguous, "no answer from " + host() + " before the deadline"};
  return {Errc::kUnavailable, "not sent to " + host() + " before the deadline"};
}

std::string Transfer::host() const {
  std::string_view text = request_.url;
  if (const auto scheme = text.find("://"); scheme != text.npos) text.remove_prefix(scheme + 3);
  text = text.substr(0, text.find_first_of("/?#"));
  if (const auto at = text.rfind('@'); at != text.npos) text.remove_prefix(at + 1);
  return std::string(text);
}

/// libcurl calls this on a connection that is ready, right before the first byte of the request:
/// what fails without it was certainly never sent. A second call is a second sending.
int Transfer::on_ready_to_send(void* self, char*, char*, int, int) {
  auto* transfer = static_cast<Transfer*>(self);
  if (transfer->sent_ && transfer->request_.once) return CURL_PREREQFUNC_ABORT;
  transfer->sent_ = true;
  return CURL_PREREQFUNC_OK;
}

std::size_t Transfer::on_header(char* data, std::size_t, std::size_t size, void* self) {
  auto& response = static_cast<Transfer*>(self)->response_;
  const std::string_view line = trim({data, size});
  // An interim answer (100) or one of a proxy came before: only the last one's headers count.
  if (line.starts_with("HTTP/")) response.headers.clear();
  if (const auto colon = line.find(':'); colon != line.npos && !line.starts_with("HTTP/")) {
    response.headers.emplace_back(to_lower(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  return size;
}

std::size_t Transfer::on_body(char* data, std::size_t, std::size_t size, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  if (size > transfer->request_.answer_bytes_max - transfer->response_.body.size()) {
    transfer->too_large_ = true;
    return 0;
  }
  transfer->response_.body.append(data, size);
  return size;
}

}  // namespace muster::http
