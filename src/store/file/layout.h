#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/store.h"

/// Where the file store keeps a key: docs/formats.md, "File store". Pure.
namespace muster::file {

/// kInvalid unless the key is one that every store takes.
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

/// The beginning of each key in a directory path_of() made ("a+/b+" holds "a/b/…"), or nothing
/// when it made no such directory.
[[nodiscard]] std::optional<std::string> keys_begin_with(std::string_view directory);

/// The part of the key that a file's name stands for, or nothing when path_of() makes no such name.
[[nodiscard]] std::optional<std::string> decode_name(std::string_view name);

}  // namespace muster::file
