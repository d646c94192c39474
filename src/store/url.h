#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

/// The address of a store: scheme://host,host/path?name=value&…, taken apart and decoded.
/// `memory:` has a scheme only.
struct Url {
  std::string scheme;
  std::string user;      ///< Empty unless user:password@ was given.
  std::string password;  ///< A secret: never print it.
  std::vector<std::string> hosts;
  std::string path;  ///< Without its leading '/', except for file: URLs, which keep it.
  std::map<std::string, std::string> query;

  /// kInvalid with one sentence that says what is wrong; the sentence holds no password.
  [[nodiscard]] static Result<Url> parse(std::string_view text);
  /// The address for people, without user and password.
  [[nodiscard]] std::string redacted() const;
};

}  // namespace muster
