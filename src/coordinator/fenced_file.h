#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/strong.h"

namespace muster {

/// A file that refuses writes of replaced leaders. Beside it are `path.epoch`, the highest epoch
/// that wrote or fenced it, and `path.lock`, held while one process reads and writes. The epoch is
/// made durable before the content, and the content is replaced as a whole: a crash leaves the old
/// file or the new one, and never an epoch lower than the content's.
///
/// Not guaranteed: protection against programs that write the file without this class, and on file
/// systems whose locks do not work between hosts. Calls block for the disk, not for each other.
/// Threads: any.
class FencedFile {
 public:
  /// The directory of `path` must exist.
  explicit FencedFile(const std::string& path);

  /// kDenied if a higher epoch was here; kUnavailable while another process writes.
  [[nodiscard]] Status write(std::string_view bytes, Epoch epoch) const;
  /// Raises the epoch and keeps the content: lower epochs are refused from now on.
  [[nodiscard]] Status fence(Epoch epoch) const;
  /// The highest epoch so far; 0 if there was no write.
  [[nodiscard]] Result<Epoch> epoch() const;

 private:
  std::string directory_;
  std::string name_;
};

}  // namespace muster
