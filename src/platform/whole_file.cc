#include "platform/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "platform/files.h"

namespace muster::files {
namespace {

Status fill(int fd, const std::string& name, std::string_view bytes, Readers readers) {
  if (Status status = write_at(fd, 0, bytes); !status) return status;
  if (::fchmod(fd, readers == Readers::kOwner ? 0600 : 0644) != 0) {
    return failure(errno, "set the permissions of ", name);
  }
  return sync(fd);
}

/// A hard link fails where a rename would replace.
Status link(int directory, const std::string& from, const std::string& to) {
  if (::linkat(directory, from.c_str(), directory, to.c_str(), 0) == 0) {
    return unlink(directory, from);
  }
  if (errno == EEXIST) return {Errc::kConflict, to + " already exists"};
  return failure(errno, "write ", to);
}

}  // namespace

Status write_whole(int directory, const std::string& name, std::string_view bytes, Readers readers,
                   Existing existing) {
  const std::string draft = "." + name + ".draft";
  // One of an earlier run that ended before it was done.
  if (Status status = unlink(directory, draft); !status && !status.is(Errc::kNotFound)) {
    return status;
  }
  auto fd = open_at(directory, draft, O_WRONLY | O_CREAT | O_EXCL);
  if (!fd) return fd.error();
  Status done = fill(fd->get(), name, bytes, readers);
  if (done) {
    done =
        existing == Existing::kKeep ? link(directory, draft, name) : rename(directory, draft, name);
  }
  if (done) return sync(directory);
  // The failure above is the one to tell; a draft that stays is removed by the next write.
  [[maybe_unused]] const Status removed = unlink(directory, draft);
  return done;
}

Result<std::string> read_whole(const std::string& path, std::size_t bytes_max) {
  auto fd = open_at(AT_FDCWD, path, O_RDONLY);
  if (!fd) return fd.error();
  std::string bytes;
  std::array<char, 4096> block;
  while (bytes.size() <= bytes_max) {
    const ssize_t n = ::read(fd->get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {failure(errno, "").code, "cannot read " + path + ": is it a file?"};
    if (n == 0) return bytes;
    bytes.append(block.data(), static_cast<std::size_t>(n));
  }
  return {Errc::kInvalid, path + " is larger than " + std::to_string(bytes_max) + " bytes"};
}

}  // namespace muster::files
