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

/// One request of a client.
struct Request {
  std::string method;                          ///< "GET"
  std::string path;                            ///< As sent, without the query: "/api/nodes"
  std::map<std::string, std::string> query;    ///< Decoded; of a name given twice, the last.
  std::map<std::string, std::string> headers;  ///< By names in lower case.
  bool keep_alive = true;                      ///< The client may send another one.
  std::string body;                            ///< Empty unless the server takes bodies.
  std::string certificate;                     ///< PEM of the client's, when it showed one.
  std::string remote;                          ///< The host of the client, without a port.

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

/// What a server takes.
struct RequestRules {
  /// 0: GET and HEAD only. Otherwise every method; GET and HEAD have no body all the same.
  std::size_t body_bytes_max = 0;
};

/// Why a request was refused before it was complete.
struct RefusedRequest {
  int status = 400;
  std::string sentence;
  std::string path{};  ///< Empty if not even that could be read.
};

/// What a look at the bytes received so far tells.
struct Parsed {
  std::optional<Request> request{};  ///< Taken off the front of the bytes.
  std::optional<RefusedRequest>
      refused{};  ///< No request of ours; nothing that follows can be read.
  /// Without the other two: another look is of use once there are so many bytes. 0: any more.
  std::size_t needs = 0;
  bool asks_to_continue = false;  ///< The client sends the body when it is told to.
};
/// Takes one request off the front of `bytes`; neither request nor refusal while it is not
/// complete. Bodies have a length: none comes in chunks. Pure.
[[nodiscard]] Parsed take_request(std::string& bytes, const RequestRules& rules = {});

/// The head of an answer; `length` is none for one that ends with its connection.
[[nodiscard]] std::string head(const Response& response, std::optional<std::size_t> length,
                               bool keep_alive);

}  // namespace muster::http
