#include "core/engine/etcd_words.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace muster::engine {
namespace {

std::string field(const nlohmann::json& line, const char* name) {
  const auto it = line.find(name);
  return it != line.end() && it->is_string() ? it->get<std::string>() : "";
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::optional<EtcdVersion> parse_etcd_version(std::string_view text) {
  constexpr std::string_view kTitle = "etcd Version: ";
  const auto at = text.find(kTitle);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + kTitle.size());
  // A pre-release, 3.6.0-rc.1, counts as its release.
  text = text.substr(0, text.find_first_not_of("0123456789."));
  const auto parts = split(text, '.');
  if (parts.size() != 3) return std::nullopt;
  std::array<int, 3> numbers{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = parse_unsigned(parts[i]);
    if (!number || *number > 10'000) return std::nullopt;
    numbers[i] = static_cast<int>(*number);
  }
  return EtcdVersion{numbers[0], numbers[1], numbers[2]};
}

std::string to_string(const EtcdVersion& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

EtcdLogLine parse_etcd_log(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) {
    // A stack trace follows; the first line of it says why.
    const bool ends = line.starts_with("panic:") || line.starts_with("fatal error:");
    return {ends ? EtcdLogLine::Level::kFatal : EtcdLogLine::Level::kError,
            std::string(trim(line))};
  }
  EtcdLogLine result;
  const std::string level = field(json, "level");
  if (level == "warn") result.level = EtcdLogLine::Level::kWarn;
  if (level == "error" || level == "dpanic") result.level = EtcdLogLine::Level::kError;
  if (level == "panic" || level == "fatal") result.level = EtcdLogLine::Level::kFatal;
  result.text = field(json, "msg");
  // The last thing it says for itself; what follows is the noise of its end.
  if (result.text == "server error") result.level = EtcdLogLine::Level::kFatal;
  if (const std::string error = field(json, "error"); !error.empty()) result.text += ": " + error;
  return result;
}

Diagnosis diagnose(std::string_view last_error, const std::string& directory,
                   const std::string& listen) {
  if (holds(last_error, "no space left on device")) {
    return {"the disk that holds " + directory + " is full; free some space"};
  }
  if (holds(last_error, "address already in use")) {
    return {listen + " is in use by another program; choose another peer address or end it"};
  }
  if (holds(last_error, "cannot assign requested address") || holds(last_error, "no such host")) {
    return {listen + " is not an address of this machine; correct --peers or --peer-listen", true};
  }
  if (holds(last_error, "permanently removed")) {
    return {"this server was removed from the cluster; to bring it back, move " + directory +
                " away and start it with --join",
            true};
  }
  if (holds(last_error, "already been bootstrapped")) {
    return {"this server was a member before, and its data is missing; start it with --join", true};
  }
  if (holds(last_error, "permission denied")) {
    return {"this user may not use " + directory + "; correct its owner or mode", true};
  }
  if (holds(last_error, "crc mismatch") || holds(last_error, "unexpected EOF") ||
      holds(last_error, "file checksum") || holds(last_error, "invalid database") ||
      holds(last_error, "does not match with snapshot")) {
    return {"the data in " + directory + " are damaged (" + std::string(last_error) +
                "); move them away and start with --join, so that the others bring it up to date",
            true};
  }
  if (holds(last_error, "x509") || holds(last_error, "tls:") ||
      holds(last_error, "private key does not match")) {
    return {"the certificates do not fit (" + std::string(last_error) +
            "); check --cert, --key and --cacert"};
  }
  if (last_error.empty()) return {"etcd ended without a message"};
  return {"etcd ended: " + std::string(last_error)};
}

}  // namespace muster::engine
