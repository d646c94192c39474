#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/store.h"

/// Maps keys to paths of the file store: docs/formats.md, "File store". Pure.
namespace muster::file {

/// Returns kInvalid unless every store accepts the key.
[[nodiscard]] Status check_key(const Key& key);

/// The directory of objects.
constexpr const char* kObjects = "objects";

/// The path of a key's object below the directory of objects. Different keys have different paths,
/// no path is a directory of another, and none leads out of the directory.
[[nodiscard]] std::string path_of(const Key& key);
/// The same, below the directory of the store.
[[nodiscard]] std::string file_of(const Key& key);

/// The deepest directory that holds every object whose key begins with `prefix`; empty for all.
[[nodiscard]] std::string directory_of(std::string_view prefix);

/// The common prefix of the keys in a directory made by path_of() ("a+/b+" holds "a/b/…"), or
/// nothing if path_of() makes no such directory.
[[nodiscard]] std::optional<std::string> keys_begin_with(std::string_view directory);

/// The part of a key that a file name represents, or nothing if path_of() makes no such name.
[[nodiscard]] std::optional<std::string> decode_name(std::string_view name);

}  // namespace muster::file
