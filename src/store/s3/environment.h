#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"

namespace muster::s3 {

/// The value of an environment variable; empty when it is not set. A parameter everywhere, so that
/// tests need not change their own process.
using Environment = std::function<std::string(const char* name)>;
[[nodiscard]] Environment process_environment();

/// A section of AWS's shared files, the credentials file's values before the config file's.
struct Profile {
  std::string name;
  bool found = false;
  std::map<std::string, std::string> values;

  [[nodiscard]] std::string get(const std::string& key) const;
};

/// The profile that AWS_PROFILE names, or "default", from AWS_SHARED_CREDENTIALS_FILE and
/// AWS_CONFIG_FILE or their usual places. kInvalid when a profile was named and is in neither.
[[nodiscard]] Result<Profile> load_profile(const Environment& environment);

/// A whole file of at most 1 MiB; kInvalid with its name when it cannot be read.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path);

}  // namespace muster::s3
