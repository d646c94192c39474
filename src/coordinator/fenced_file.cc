#include "coordinator/fenced_file.h"

#include <fcntl.h>

#include <filesystem>
#include <optional>

#include "base/text.h"
#include "core/election/epoch_fence.h"
#include "platform/files.h"

namespace muster {
namespace {

// Larger than any number with its line end.
constexpr std::size_t kEpochBytesMax = 32;

Result<Epoch> read_epoch(int directory, const std::string& name) {
  const auto content = files::read(directory, name, kEpochBytesMax);
  if (content.is(Errc::kNotFound)) return Epoch{};
  if (!content) return content.error();
  const auto epoch = parse_unsigned(trim(content->bytes));
  if (!epoch) return {Errc::kCorrupt, name + " does not hold an epoch; restore it by hand"};
  return Epoch(*epoch);
}

/// A reader finds the old content or the new one, after a power loss as well.
Status replace(int directory, const std::string& name, std::string_view bytes) {
  // One name is enough: only the holder of the lock writes it.
  const std::string draft = name + ".new";
  const auto file = files::open_at(directory, draft, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return file.error();
  if (Status written = files::write_at(file->get(), 0, bytes); !written) return written;
  if (Status synced = files::sync(file->get()); !synced) return synced;
  if (Status renamed = files::rename(directory, draft, name); !renamed) return renamed;
  return files::sync(directory);
}

/// Looks at the epoch, raises it, and writes what there is to write, all under the lock.
Status write_fenced(const std::string& path, const std::string& name,
                    std::optional<std::string_view> bytes, Epoch epoch) {
  const auto directory = files::open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
  if (!directory) return directory.error();
  auto lock_file = files::open_at(directory->get(), name + ".lock", O_RDWR | O_CREAT);
  if (!lock_file) return lock_file.error();
  files::FileLock lock(*std::move(lock_file));
  const Result<bool> locked = lock.try_lock();
  if (!locked) return locked.error();
  if (!*locked)
    return {Errc::kUnavailable, name +
                                    " is being written by another process; try "
                                    "again"};

  const Result<Epoch> highest = read_epoch(directory->get(), name + ".epoch");
  if (!highest) return highest.error();
  EpochGuard guard(*highest);
  if (!guard.admit(epoch)) {
    return {Errc::kDenied, name + ": epoch " + std::to_string(epoch.value()) + " is behind " +
                               std::to_string(highest->value())};
  }
  if (epoch > *highest) {
    const std::string text = std::to_string(epoch.value()) + "\n";
    Status raised = replace(directory->get(), name + ".epoch", text);
    if (!raised) return raised;
  }
  return bytes ? replace(directory->get(), name, *bytes) : Status(Done{});
}

}  // namespace

FencedFile::FencedFile(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path);
  directory_ = whole.parent_path().string();
  name_ = whole.filename().string();
}

Status FencedFile::write(std::string_view bytes, Epoch epoch) const {
  return write_fenced(directory_, name_, bytes, epoch);
}

Status FencedFile::fence(Epoch epoch) const {
  return write_fenced(directory_, name_, {}, epoch);
}

Result<Epoch> FencedFile::epoch() const {
  const auto directory = files::open_at(AT_FDCWD, directory_, O_RDONLY | O_DIRECTORY);
  if (!directory) return directory.error();
  return read_epoch(directory->get(), name_ + ".epoch");
}

}  // namespace muster
