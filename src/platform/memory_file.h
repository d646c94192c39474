#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "platform/unique_fd.h"

namespace muster {

/// A file that exists only in this process's memory and still has a path, for libraries that read
/// their secrets from files: nothing of it reaches a disk or another user. Who opens the path sees
/// one content as a whole, never a mixture of two, and each content has a modification time of its
/// own, so that it can be told whether it was replaced between two looks. One thread replaces; any
/// thread of this process reads.
class MemoryFile {
 public:
  /// `name` is for people who look at the descriptors of this process.
  [[nodiscard]] static Result<MemoryFile> make(const std::string& name, std::string_view content);
  /// Who has it open keeps reading the earlier content.
  [[nodiscard]] Status replace(std::string_view content);
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

 private:
  explicit MemoryFile(std::string name) : name_(std::move(name)) {}
  std::string name_;
  UniqueFd fd_;
  std::int64_t replaced_ = 0;
};

}  // namespace muster
