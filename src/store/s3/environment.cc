#include "store/s3/environment.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/text.h"

namespace muster::s3 {
namespace {

std::string path_of(const Environment& environment, const char* variable, const char* usual) {
  std::string path = environment(variable);
  if (path.empty() && !environment("HOME").empty()) path = environment("HOME") + usual;
  return path;
}

/// A comment begins a line, or follows a space within one.
std::string_view without_comment(std::string_view line) {
  if (line.starts_with('#') || line.starts_with(';')) return {};
  return line.substr(0, std::min(line.find(" #"), line.find(" ;")));
}

/// Adds what section `wanted` holds and `profile` has not got yet.
void merge(std::string_view text, std::string_view wanted, Profile& profile) {
  bool inside = false;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = trim(without_comment(raw));
    if (line.starts_with('[') && line.ends_with(']')) {
      inside = trim(line.substr(1, line.size() - 2)) == wanted;
      profile.found = profile.found || inside;
      continue;
    }
    const auto equals = line.find('=');
    // An indented line belongs to a nested block, none of which concerns us.
    const bool nested = raw.starts_with(' ') || raw.starts_with('\t');
    if (!inside || nested || equals == line.npos) continue;
    profile.values.emplace(trim(line.substr(0, equals)), trim(line.substr(equals + 1)));
  }
}

}  // namespace

Environment process_environment() {
  return [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
}

std::string Profile::get(const std::string& key) const {
  const auto it = values.find(key);
  return it == values.end() ? "" : it->second;
}

Result<std::string> read_small_file(const std::string& path) {
  constexpr std::streamsize kBytesMax = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(kBytesMax + 1, '\0');
  if (file) file.read(text.data(), kBytesMax + 1);
  if (file.bad() || (!file && file.gcount() == 0 && !file.eof()) || file.gcount() > kBytesMax) {
    return {Errc::kInvalid, "cannot read " + path};
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

Result<Profile> load_profile(const Environment& environment) {
  Profile profile;
  profile.name = environment("AWS_PROFILE");
  const bool named = !profile.name.empty();
  if (!named) profile.name = "default";
  const std::string credentials =
      path_of(environment, "AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials");
  const std::string config = path_of(environment, "AWS_CONFIG_FILE", "/.aws/config");
  // Either file may be absent; that a named profile is then nowhere is said below.
  if (const auto text = read_small_file(credentials)) merge(*text, profile.name, profile);
  if (const auto text = read_small_file(config)) {
    merge(*text, profile.name == "default" ? "default" : "profile " + profile.name, profile);
  }
  if (named && !profile.found) {
    return {Errc::kInvalid, "AWS_PROFILE names \"" + profile.name + "\", which is neither in " +
                                credentials + " nor in " + config};
  }
  return profile;
}

}  // namespace muster::s3
