#include "store/url.h"

#include <cstddef>

#include "base/text.h"

namespace muster {
namespace {

Status parse_query(std::string_view text, std::map<std::string, std::string>& query) {
  if (text.empty()) return Done{};
  for (const std::string_view pair : split(text, '&')) {
    const auto equals = pair.find('=');
    const auto name = percent_decode(pair.substr(0, equals));
    const auto value = equals == std::string_view::npos ? Result<std::string>(std::string())
                                                        : percent_decode(pair.substr(equals + 1));
    if (!name) return name.error();
    if (!value) return value.error();
    if (name->empty()) return invalid("the store address has an option without a name after '?'");
    if (!query.emplace(*name, *value).second) {
      return invalid("the store address gives the option \"" + *name + "\" twice");
    }
  }
  return Done{};
}

Status parse_authority(std::string_view text, Url& url) {
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view login = text.substr(0, at);
    const auto colon = login.find(':');
    const auto user = percent_decode(login.substr(0, colon));
    const auto password = colon == std::string_view::npos ? Result<std::string>(std::string())
                                                          : percent_decode(login.substr(colon + 1));
    if (!user || !password)
      return invalid("the user or password in the store address is malformed");
    url.user = *user;
    url.password = *password;
    text.remove_prefix(at + 1);
  }
  if (text.empty()) return Done{};
  for (const std::string_view host : split(text, ',')) {
    if (host.empty()) return invalid("the store address has an empty host between commas");
    if (host.find_first_of(" \t\r\n\"<>\\^`{|}") != std::string_view::npos) {
      return invalid("the store address has a host with invalid characters");
    }
    url.hosts.emplace_back(host);
  }
  return Done{};
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  Url url;
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    return invalid(
        "a store address begins with its scheme, such as file:///var/lib/app or s3://bucket");
  }
  url.scheme = to_lower(text.substr(0, colon));
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      return invalid("the store address contains a control character");
    }
  }
  std::string_view rest = text.substr(colon + 1);
  if (const auto question = rest.find('?'); question != std::string_view::npos) {
    if (Status s = parse_query(rest.substr(question + 1), url.query); !s) return s.error();
    rest = rest.substr(0, question);
  }
  if (rest.empty() && url.scheme == "memory") return url;
  if (!rest.starts_with("//")) {
    return invalid("the store address " + url.scheme + ":… lacks the // after its scheme");
  }
  rest.remove_prefix(2);
  const auto slash = rest.find('/');
  if (Status s = parse_authority(rest.substr(0, slash), url); !s) return s.error();
  if (slash == std::string_view::npos) return url;
  const bool keep_slash = url.scheme == "file";
  const auto path = percent_decode(rest.substr(keep_slash ? slash : slash + 1));
  if (!path) return path.error();
  if (path->find('\0') != std::string::npos)
    return invalid(
        "the store address contains a zero "
        "byte");
  url.path = *path;
  return url;
}

std::string Url::redacted() const {
  std::string text = scheme + ":";
  if (scheme == "memory") return text;
  text += "//";
  for (std::size_t i = 0; i < hosts.size(); ++i) text += (i > 0 ? "," : "") + hosts[i];
  if (!path.starts_with('/') && !path.empty()) text += '/';
  return text + path;
}

}  // namespace muster
