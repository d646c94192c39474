#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

/// Small files that are read and written as a whole, such as keys and certificates. Any thread.
namespace muster::files {

enum class Existing { kKeep, kReplace };
enum class Readers { kOwner, kEverybody };  ///< Modes 0600 and 0644.

/// A reader finds the whole file, or the previous one; a crash leaves either. Writers of
/// one name must take turns. kConflict, and nothing has changed, when a file of that name is to be
/// kept.
[[nodiscard]] Status write_whole(int directory, const std::string& name, std::string_view bytes,
                                 Readers readers, Existing existing);

/// Follows symbolic links, since secrets are often mounted behind them, and reads a pipe, too.
/// kNotFound when there is no
/// such file, kInvalid when it has more than `bytes_max` bytes.
[[nodiscard]] Result<std::string> read_whole(const std::string& path,
                                             std::size_t bytes_max = std::size_t{1} << 20);

}  // namespace muster::files
