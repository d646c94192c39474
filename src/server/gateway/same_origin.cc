#include "server/gateway/same_origin.h"

#include <string>
#include <string_view>

#include "base/text.h"

namespace muster::server {
namespace {

/// Without the scheme: "localhost:9002".
std::string_view authority_of(std::string_view origin) {
  const auto scheme = origin.find("://");
  return scheme == origin.npos ? std::string_view() : origin.substr(scheme + 3);
}

}  // namespace

Status check_same_origin(const http::Request& request) {
  const std::string site = to_lower(request.header("sec-fetch-site"));
  const std::string origin = to_lower(request.header("origin"));
  const bool other_site = !site.empty() && site != "same-origin" && site != "none";
  const bool other_origin =
      !origin.empty() && authority_of(origin) != to_lower(request.header("host"));
  if (!other_site && !other_origin) return Done{};
  return {Errc::kDenied, "a page of another site must not change anything here"};
}

}  // namespace muster::server
