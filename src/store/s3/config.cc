#include "store/s3/config.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace muster::s3 {

bool has_dot_part(std::string_view path) {
  for (const std::string_view part : split(path, '/')) {
    if (part == "." || part == "..") return true;
  }
  return false;
}

namespace {

std::string first_of(std::initializer_list<std::string> values) {
  for (const std::string& value : values) {
    if (!value.empty()) return value;
  }
  return "";
}

std::string option(const Url& url, const char* name) {
  const auto it = url.query.find(name);
  return it == url.query.end() ? "" : it->second;
}

Status check_options(const Url& url) {
  static const std::vector<std::string> kKnown = {"endpoint", "region", "style", "if-match",
                                                  "ca-file"};
  for (const auto& [name, value] : url.query) {
    if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) {
      const std::string near = nearest(name, kKnown);
      return invalid("s3: addresses have no option \"" + name + "\"" +
                     (near.empty() ? "; known are endpoint, region, style, if-match and ca-file"
                                   : "; did you mean \"" + near + "\"?"));
    }
    if (value.empty())
      return invalid("the option \"" + name + "\" of the s3: address has no value");
  }
  return Done{};
}

bool has_only(std::string_view text, std::string_view extra) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           extra.find(c) != extra.npos;
  });
}

Status set_bucket(const Url& url, Config& config) {
  if (url.hosts.empty())
    return invalid("the s3: address names no bucket; write s3://bucket/prefix");
  if (url.hosts.size() > 1) return invalid("an s3: address names one bucket only");
  if (!url.user.empty() || !url.password.empty()) {
    return invalid(
        "an s3: address must not hold credentials; use AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, or a shared credentials file");
  }
  config.bucket = url.hosts[0];
  if (config.bucket.size() < 3 || config.bucket.size() > 255 || !has_only(config.bucket, "-._")) {
    return invalid("\"" + config.bucket + "\" is not a bucket name");
  }
  config.prefix = url.path;
  while (config.prefix.ends_with('/')) config.prefix.pop_back();
  if (config.prefix.find("//") != std::string::npos || config.prefix.starts_with('/')) {
    return invalid("the prefix of the s3: address has an empty part between slashes");
  }
  if (has_dot_part(config.prefix)) {
    return invalid(
        "the prefix \"" + config.prefix +
        "\" of the s3: address has a part . or .., which a store or proxy may resolve to another "
        "place; write the prefix without it");
  }
  if (!config.prefix.empty()) config.prefix += '/';
  return Done{};
}

Status set_endpoint(std::string text, Config& config) {
  const Error wrong = invalid("\"" + text +
                              "\" is not an S3 endpoint; write it like https://s3.example.com or "
                              "http://127.0.0.1:7480");
  const auto colon = text.find("://");
  if (colon == std::string::npos) return wrong;
  config.scheme = to_lower(text.substr(0, colon));
  if (config.scheme != "http" && config.scheme != "https") return wrong;
  config.host = to_lower(text.substr(colon + 3));
  if (config.host.ends_with('/')) config.host.pop_back();
  const std::string default_port = config.scheme == "http" ? ":80" : ":443";
  if (config.host.ends_with(default_port)) {
    config.host.resize(config.host.size() - default_port.size());
  }
  if (config.host.empty() || !has_only(config.host, "-.:[]")) return wrong;
  return Done{};
}

bool is_ip_address(const std::string& host) {
  return host.starts_with('[') ||
         host.substr(0, host.find(':')).find_first_not_of("0123456789.") == std::string::npos;
}

Status set_style(const std::string& style, bool own_endpoint, Config& config) {
  // A dot in the bucket's name is not covered by the certificate of *.s3.amazonaws.com.
  config.virtual_hosted = !own_endpoint && config.bucket.find('.') == std::string::npos;
  if (style.empty()) return Done{};
  if (style != "path" && style != "virtual") {
    return invalid("style is \"" + style + "\"; it must be path or virtual");
  }
  config.virtual_hosted = style == "virtual";
  if (config.virtual_hosted && is_ip_address(config.host)) {
    return invalid("style=virtual needs an endpoint with a host name, not an IP address");
  }
  return Done{};
}

Status set_if_match(const std::string& text, Config& config) {
  if (text.empty() || text == "auto") return config.if_match = IfMatch::kAuto, Done{};
  if (text == "quoted") return config.if_match = IfMatch::kQuoted, Done{};
  if (text == "unquoted") return config.if_match = IfMatch::kUnquoted, Done{};
  return invalid("if-match is \"" + text + "\"; it must be auto, quoted or unquoted");
}

}  // namespace

Result<Config> Config::from(const Url& url, const Environment& environment,
                            const Profile& profile) {
  Config config;
  if (Status s = check_options(url); !s) return s.error();
  if (Status s = set_bucket(url, config); !s) return s.error();
  config.region = first_of({option(url, "region"), environment("AWS_REGION"),
                            environment("AWS_DEFAULT_REGION"), profile.get("region"), "us-east-1"});
  if (!has_only(config.region, "-_")) return invalid("\"" + config.region + "\" is not a region");
  const std::string endpoint =
      first_of({option(url, "endpoint"), environment("AWS_ENDPOINT_URL_S3"),
                environment("AWS_ENDPOINT_URL"), profile.get("endpoint_url")});
  const bool own = !endpoint.empty();
  Status set =
      set_endpoint(own ? endpoint : "https://s3." + config.region + ".amazonaws.com", config);
  if (!set) return set.error();
  if (Status s = set_style(option(url, "style"), own, config); !s) return s.error();
  if (Status s = set_if_match(option(url, "if-match"), config); !s) return s.error();
  config.ca_file = first_of({option(url, "ca-file"), environment("AWS_CA_BUNDLE")});
  if (!config.ca_file.empty()) {
    if (const auto readable = read_small_file(config.ca_file); !readable) return readable.error();
  }
  return config;
}

std::string Config::request_host() const {
  return virtual_hosted ? bucket + "." + host : host;
}

std::string Config::request_path(const std::string& key) const {
  if (virtual_hosted) return "/" + key;
  return "/" + bucket + (key.empty() ? "" : "/" + key);
}

}  // namespace muster::s3
