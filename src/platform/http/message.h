#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster::http {

/// One request of a client. Only what a server that answers GET and HEAD needs.
struct Request {
  std::string method;                          ///< "GET"
  std::string path;                            ///< As sent, without the query: "/api/nodes"
  std::map<std::string, std::string> query;    ///< Decoded; of a name given twice, the last.
  std::map<std::string, std::string> headers;  ///< By names in lower case.
  bool keep_alive = true;                      ///< The client may send another one.
  std::string certificate;                     ///< PEM of the client's, when it showed one.

  /// Empty when it was not given.
  [[nodiscard]] std::string parameter(const std::string& name) const;
  [[nodiscard]] std::string header(const std::string& name) const;
};

using Body = std::shared_ptr<const std::string>;
[[nodiscard]] inline Body body(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

struct Response {
  int status = 200;
  std::string type = "application/json";
  Body content = body("");
  std::vector<std::pair<std::string, std::string>> headers{};
};
/// `text`, which is JSON, and the end of its line. No cache keeps it.
[[nodiscard]] Response json_response(int status, std::string text);
/// What Prometheus reads: `text` in its format, version 0.0.4. No cache keeps it.
[[nodiscard]] Response metrics_response(std::string text);
/// {"error": "…"}
[[nodiscard]] Response refusal(int status, const std::string& sentence);

/// A longer head of a request is refused.
inline constexpr std::size_t kHeadBytesMax = 16 * 1024;

/// What a look at the bytes received so far tells.
struct Parsed {
  std::optional<Request> request;   ///< Taken off the front of the bytes.
  std::optional<Response> refused;  ///< No request of ours; nothing that follows can be read.
};
/// Takes one request off the front of `bytes`; neither of the two while it is not complete.
/// A request with a body is refused: nothing here takes one. Pure.
[[nodiscard]] Parsed take_request(std::string& bytes);

/// The head of an answer; `length` is none for one that ends with its connection.
[[nodiscard]] std::string head(const Response& response, std::optional<std::size_t> length,
                               bool keep_alive);

}  // namespace muster::http
