#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

/// One option as a file sets it.
struct Setting {
  std::string name;  ///< Long name without dashes in front: "lease-timeout".
  std::string value;
  int line = 0;  ///< Counted from 1.
};

/// The options in a YAML file: `lease-timeout: 15s`, or grouped, `circuit-breaker:
/// {reset-timeout: 30s}`; `tls: {cert, key, ca, crl_file, …}` are --cert, --key, --cacert,
/// --crl-file, …. `_` counts as `-`.
///
/// Stricter than YAML readers are: a key given twice, a list, an empty value, a group in a group,
/// and a number such as 010, which one reader takes for eight and the next for ten, are refused.
/// kInvalid says what and where.
[[nodiscard]] Result<std::vector<Setting>> read_settings(const std::string& yaml);

}  // namespace muster
