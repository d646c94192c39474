#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace muster::engine {

struct EtcdVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const EtcdVersion&) const = default;
};
inline constexpr EtcdVersion kOldestEtcd{3, 4, 0};

/// Parses the output of `etcd --version`; nothing if it is not etcd's.
[[nodiscard]] std::optional<EtcdVersion> parse_etcd_version(std::string_view text);
[[nodiscard]] std::string to_string(const EtcdVersion& version);

/// One line of etcd's log (zap's JSON), reduced to what people need.
struct EtcdLogLine {
  enum class Level { kInfo, kWarn, kError, kFatal };
  Level level = Level::kInfo;
  std::string text;  ///< Message and error, without stack traces.
};
/// Lines that are not JSON, such as a panic of the Go runtime, count as errors.
[[nodiscard]] EtcdLogLine parse_etcd_log(std::string_view line);

/// Why etcd ended, in a sentence that says what to do.
struct Diagnosis {
  std::string sentence;
  bool permanent = false;  ///< A restart cannot help.
};
/// `last_error` is the text of the last line above kWarn, or of the last line. `directory` has its
/// data and `listen` is its peer address, for the sentence.
[[nodiscard]] Diagnosis diagnose(std::string_view last_error, const std::string& directory,
                                 const std::string& listen);

}  // namespace muster::engine
