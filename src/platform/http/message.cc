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
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
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
  return fresh || at->first != "host";
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

Parsed take_request(std::string& bytes) {
  const auto end = bytes.find("\r\n\r\n");
  if (std::min(end, bytes.size()) > kHeadBytesMax) {
    return {{}, refusal(431, "the head of the request is longer than 16384 bytes")};
  }
  if (end == bytes.npos) return {};
  Request request;
  if (!read_head(std::string_view(bytes).substr(0, end), request)) {
    return {{}, refusal(400, "this is not an HTTP/1.1 request")};
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return {{}, refusal(405, "this server is read-only: use GET")};
  }
  const std::string length = request.header("content-length");
  if (!request.header("transfer-encoding").empty() || (!length.empty() && length != "0")) {
    return {{}, refusal(413, "a request must have no body")};
  }
  bytes.erase(0, end + 4);
  return {std::move(request), {}};
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
