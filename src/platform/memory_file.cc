#include "platform/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace muster {
namespace {

Error failure(const std::string& name) {
  return {Errc::kUnavailable,
          "cannot keep " + name + " in memory: " + std::generic_category().message(errno)};
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t wrote = ::write(fd, content.data(), content.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace

Result<MemoryFile> MemoryFile::make(const std::string& name, std::string_view content) {
  MemoryFile file(name);
  if (Status status = file.replace(content); !status) return status.error();
  return file;
}

Status MemoryFile::replace(std::string_view content) {
  UniqueFd fresh(::memfd_create(name_.c_str(), MFD_CLOEXEC));
  if (!fresh.valid() || !write_all(fresh.get(), content)) return failure(name_);
  // Whole seconds, because that is what some readers compare.
  const timespec number{.tv_sec = ++replaced_, .tv_nsec = 0};
  if (::futimens(fresh.get(), std::array{number, number}.data()) != 0) return failure(name_);
  if (!fd_.valid()) {
    fd_ = std::move(fresh);
    return Done{};
  }
  // The number stays, and stands for the new file from one moment to the next.
  if (::dup3(fresh.get(), fd_.get(), O_CLOEXEC) < 0) return failure(name_);
  return Done{};
}

}  // namespace muster
