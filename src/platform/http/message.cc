#include "platform/http/message.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "platform/http/syntax.h"

namespace muster::http {
namespace {

const char* reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Answer";
  }
}

Result<std::string> decode_parameter(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return percent_decode(spaced);
}

bool take_target(std::string_view target, Request& request) {
  if (!target.starts_with('/') || has_control(target)) return false;
  const auto mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark == target.npos) return true;
  for (const std::string_view pair : split(target.substr(mark + 1), '&')) {
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    const auto name = decode_parameter(pair.substr(0, equals));
    const auto value =
        decode_parameter(equals == pair.npos ? std::string_view() : pair.substr(equals + 1));
    if (!name || !value) return false;
    request.query[*name] = *value;
  }
  return true;
}

bool take_line(std::string_view line, Request& request) {
  const std::vector<std::string_view> words = split(line, ' ');
  if (words.size() != 3 || !is_token(words[0]) || !words[2].starts_with("HTTP/1.")) return false;
  request.method = words[0];
  request.keep_alive = words[2] != "HTTP/1.0";
  return take_target(words[1], request);
}

bool take_header(std::string_view line, Request& request) {
  const auto colon = line.find(':');
  // A name with a space before its colon, or a folded line, is how requests are smuggled.
  if (colon == line.npos || !is_token(line.substr(0, colon)) || has_control(line)) return false;
  const auto [at, fresh] = request.headers.emplace(to_lower(line.substr(0, colon)),
                                                   std::string(trim(line.substr(colon + 1))));
  // Two programs that believe different ones would find different ends, or different servers.
  return fresh || (at->first != "host" && at->first != "content-length");
}

bool read_head(std::string_view text, Request& request) {
  bool first = true;
  while (!text.empty()) {
    const auto end = text.find("\r\n");
    const std::string_view line = text.substr(0, end);
    if (!(first ? take_line(line, request) : take_header(line, request))) return false;
    first = false;
    if (end == text.npos) break;
    text.remove_prefix(end + 2);
  }
  if (to_lower(request.header("connection")).find("close") != std::string::npos) {
    request.keep_alive = false;
  }
  return !first;
}

Parsed refused(int status, const char* sentence) {
  return {.refused = RefusedRequest{status, sentence}};
}

/// Why its method or its body is not taken; otherwise sets the length of the body.
std::optional<RefusedRequest> check_body(const Request& request, const RequestRules& rules,
                                         std::size_t& length) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!reads && rules.body_bytes_max == 0) {
    return RefusedRequest{405, "this server is read-only: use GET", request.path};
  }
  const bool coded = !request.header("transfer-encoding").empty();
  const auto given = request.headers.find("content-length");
  const auto number = given == request.headers.end() ? std::optional<std::uint64_t>(0)
                                                     : parse_unsigned(given->second);
  if (reads && (coded || number != 0)) {
    return RefusedRequest{413, "a request must have no body", request.path};
  }
  if (coded) {
    return RefusedRequest{411, "the body must have a Content-Length; send no chunks", request.path};
  }
  if (!number) return RefusedRequest{400, "Content-Length is not a number", request.path};
  if (*number > rules.body_bytes_max) {
    return RefusedRequest{
        413, "the body is longer than " + std::to_string(rules.body_bytes_max) + " bytes",
        request.path};
  }
  length = static_cast<std::size_t>(*number);
  return {};
}

}  // namespace

std::string Request::parameter(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::string() : found->second;
}

std::string Request::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

Response json_response(int status, std::string text) {
  return {
      status, "application/json", body(std::move(text) + "\n"), {{"Cache-Control", "no-store"}}};
}

Response metrics_response(std::string text) {
  return {200,
          "text/plain; version=0.0.4; charset=utf-8",
          body(std::move(text)),
          {{"Cache-Control", "no-store"}}};
}

Response refusal(int status, const std::string& sentence) {
  const nlohmann::json json{{"error", sentence}};
  Response response =
      json_response(status, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (status == 405) response.headers.emplace_back("Allow", "GET, HEAD");
  return response;
}

Parsed take_request(std::string& bytes, const RequestRules& rules) {
  const auto end = bytes.find("\r\n\r\n");
  if (std::min(end, bytes.size()) > kHeadBytesMax) {
    return refused(431, "the head of the request is longer than 16384 bytes");
  }
  if (end == bytes.npos) return {};
  Request request;
  if (!read_head(std::string_view(bytes).substr(0, end), request)) {
    return refused(400, "this is not an HTTP/1.1 request");
  }
  std::size_t length = 0;
  if (auto against = check_body(request, rules, length)) return {.refused = std::move(against)};
  const std::size_t whole = end + 4 + length;
  if (bytes.size() < whole) {
    const bool asks = to_lower(request.header("expect")) == "100-continue";
    return {.needs = whole, .asks_to_continue = asks};
  }
  request.body = bytes.substr(end + 4, length);
  bytes.erase(0, whole);
  return {.request = std::move(request)};
}

std::string head(const Response& response, std::optional<std::size_t> length, bool keep_alive) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " " + reason(response.status) +
                     "\r\nContent-Type: " + response.type + "\r\n";
  if (length) text += "Content-Length: " + std::to_string(*length) + "\r\n";
  for (const auto& [name, value] : response.headers) text += name + ": " + value + "\r\n";
  text += keep_alive && length ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return text;
}

}  // namespace muster::http
