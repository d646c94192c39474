#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"

namespace muster::s3 {

/// Returns the value of an environment variable; empty if it is not set. A parameter everywhere, so
/// that tests need not change their own process.
using Environment = std::function<std::string(const char* name)>;
[[nodiscard]] Environment process_environment();

/// A section of AWS's shared files; the credentials file overrides the config file.
struct Profile {
  std::string name;
  bool found = false;
  std::map<std::string, std::string> values;

  [[nodiscard]] std::string get(const std::string& key) const;
};

/// The profile named by AWS_PROFILE, or "default", from AWS_SHARED_CREDENTIALS_FILE and
/// AWS_CONFIG_FILE or their usual paths. Returns kInvalid if a named profile is in neither.
[[nodiscard]] Result<Profile> load_profile(const Environment& environment);

/// The content of a file of at most 1 MiB; kInvalid with its name if it cannot be read.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path);

}  // namespace muster::s3
