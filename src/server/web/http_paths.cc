#include "server/web/http_paths.h"

#include <algorithm>

#include "rpc/status.h"
#include "server/web/api_json.h"

namespace muster::server {
namespace {

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

rpc::Code code_of(int status) {
  switch (status) {
    case 403:
      return rpc::Code::kPermissionDenied;
    case 404:
      return rpc::Code::kNotFound;
    case 405:
      return rpc::Code::kUnimplemented;
    case 503:
      return rpc::Code::kUnavailable;
    default:
      return rpc::Code::kInvalidArgument;
  }
}

}  // namespace

bool is_v1(std::string_view path) {
  return path == "/v1" || path.starts_with("/v1/");
}

const char* path_class(std::string_view path) {
  if (is_v1(path)) return "v1";
  if (path.starts_with("/api/")) return "api";
  if (path == "/metrics") return "metrics";
  if (path == "/healthz" || path == "/readyz") return "probe";
  return "page";
}

http::Response v1_error(int status, rpc::Code code, const std::string& message) {
  const Json json{{"error", {{"code", to_string(code)}, {"message", message}}}};
  return http::json_response(status, dump(json));
}

http::Response refusal_at(std::string_view path, int status, const std::string& sentence) {
  if (is_v1(path)) return v1_error(status, code_of(status), sentence);
  return http::refusal(status, sentence);
}

void add_common_headers(http::Response& response) {
  const bool kept = std::any_of(response.headers.begin(), response.headers.end(),
                                [](const auto& each) { return each.first == "Cache-Control"; });
  if (!kept) response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
}

}  // namespace muster::server
