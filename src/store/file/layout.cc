#include "store/file/layout.h"

#include "base/text.h"

namespace muster::file {
namespace {

// Neither sign is ever part of an escaped name, so a directory cannot be taken for an object.
constexpr char kDirectory = '+';  // "a+" holds the keys "a/…".
constexpr char kContinued = ',';  // "a," holds keys whose part is too long for one name: "a…".
constexpr std::size_t kKeyBytesMax = 1024;
// With an escape of three bytes and a sign this stays below the 255 bytes of most file systems,
// and below the 143 of ecryptfs.
constexpr std::size_t kNameBytesMax = 128;

bool is_plain(char c, bool first) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  // A leading dot would make a hidden file, or one of the two names that lead elsewhere.
  return c == '-' || c == '_' || c == '=' || (c == '.' && !first);
}

/// Writes one part of a key as names; all but the last are directories.
void append_part(std::string_view part, std::string& path) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::size_t name_bytes = 0;
  for (const char c : part) {
    if (name_bytes >= kNameBytesMax) {
      path += kContinued;
      path += '/';
      name_bytes = 0;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c, name_bytes == 0)) {
      path += c;
      name_bytes += 1;
    } else {
      path += {'%', kHex[byte >> 4], kHex[byte & 0xF]};
      name_bytes += 3;
    }
  }
}

}  // namespace

Status check_key(const Key& key) {
  if (key.empty()) return {Errc::kInvalid, "a key must not be empty"};
  if (key.size() > kKeyBytesMax) {
    return {Errc::kInvalid, "a key has at most " + std::to_string(kKeyBytesMax) +
                                " bytes, this one has " + std::to_string(key.size())};
  }
  for (const std::string_view part : split(key, '/')) {
    if (part.empty()) return {Errc::kInvalid, "the key \"" + key + "\" has an empty part"};
  }
  return Done{};
}

std::string path_of(const Key& key) {
  std::string path;
  std::string_view rest = key;
  for (auto slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
    append_part(rest.substr(0, slash), path);
    path += kDirectory;
    path += '/';
    rest.remove_prefix(slash + 1);
  }
  append_part(rest, path);
  return path;
}

std::string file_of(const Key& key) {
  return std::string(kObjects) + "/" + path_of(key);
}

std::string directory_of(std::string_view prefix) {
  const auto slash = prefix.rfind('/');
  if (slash == std::string_view::npos) return {};
  const std::string path = path_of(std::string(prefix.substr(0, slash + 1)));
  return path.substr(0, path.size() - 1);
}

std::optional<std::string> keys_begin_with(std::string_view directory) {
  std::string begin;
  if (directory.empty()) return begin;
  for (const std::string_view name : split(directory, '/')) {
    if (name.empty()) return {};
    const auto decoded = decode_name(name.substr(0, name.size() - 1));
    if (!decoded || (name.back() != kDirectory && name.back() != kContinued)) return {};
    begin += *decoded;
    if (name.back() == kDirectory) begin += '/';
  }
  return begin;
}

std::optional<std::string> decode_name(std::string_view name) {
  auto decoded = percent_decode(name);
  // Only what encodes to the same name is ours: everything else was put there by someone else.
  if (!decoded || decoded->empty() || decoded->find('/') != std::string::npos) return {};
  std::string again;
  append_part(*decoded, again);
  if (again != name) return {};
  return *decoded;
}

}  // namespace muster::file
