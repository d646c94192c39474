#include "platform/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/text.h"

namespace muster::files {
namespace {

template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// What is read of /proc/locks: about a thousand locks.
constexpr std::size_t kLocksBytes = 64 << 10;

Status done_or(int result, std::string_view doing, std::string_view name = {}) {
  if (result == 0) return Done{};
  return failure(errno, doing, name);
}

}  // namespace

Error failure(int error_number, std::string_view doing, std::string_view name) {
  const std::string prefix = "cannot " + std::string(doing) + std::string(name) + ": ";
  switch (error_number) {
    case ENOENT:
      return {Errc::kNotFound, prefix + "it does not exist"};
    case EACCES:
    case EPERM:
      return {Errc::kDenied, prefix + "this user lacks the permission"};
    case EROFS:
      return {Errc::kDenied, prefix + "the file system is read-only"};
    case ENOSPC:
      return {Errc::kUnavailable, prefix + "no space left on the disk"};
    case EFBIG:
      return {Errc::kUnavailable,
              prefix +
                  "the file would be larger than this process may write; raise the limit "
                  "(ulimit -f, LimitFSIZE=)"};
    case EDQUOT:
      return {Errc::kUnavailable, prefix + "the disk quota is used up"};
    case ENOTDIR:
      return {Errc::kInvalid, prefix + "a part of the path is a file, not a directory"};
    default: {
      std::array<char, 128> buffer{};
      return {Errc::kUnavailable,
              prefix + ::strerror_r(error_number, buffer.data(), buffer.size())};
    }
  }
}

Result<UniqueFd> open_or_make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    if (errno == ENOENT) {
      return {Errc::kNotFound, "cannot create " + path + ": its parent directory does not exist"};
    }
    return failure(errno, "create ", path);
  }
  return open_directory(path);
}

Result<UniqueFd> open_directory(const std::string& path) {
  return open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
}

Status replace(int fd, const UniqueFd& by) {
  if (uninterrupted([&] { return ::dup3(by.get(), fd, O_CLOEXEC); }) >= 0) return Done{};
  return failure(errno, "replace an open file");
}

Result<UniqueFd> open_at(int directory, const std::string& name, int flags) {
  UniqueFd fd(uninterrupted(
      [&] { return ::openat(directory, name.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0600); }));
  if (!fd.valid()) return failure(errno, "open ", name);
  return fd;
}

Result<Content> read(int directory, const std::string& name, std::size_t bytes_max) {
  auto fd = open_at(directory, name, O_RDONLY | O_NOFOLLOW);
  if (!fd) return fd.error();
  struct stat info {};
  if (::fstat(fd->get(), &info) != 0) return failure(errno, "examine ", name);
  if (!S_ISREG(info.st_mode)) return {Errc::kCorrupt, name + " is not a regular file"};
  Content content;
  content.size = static_cast<std::uint64_t>(info.st_size);
  content.written = wall_from_ms(info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1'000'000);
  auto bytes = read_at(fd->get(), 0,
                       static_cast<std::size_t>(std::min<std::uint64_t>(content.size, bytes_max)));
  if (!bytes) return bytes.error();
  content.bytes = std::move(*bytes);
  return content;
}

Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t bytes) {
  std::string out(bytes, '\0');
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t n = uninterrupted([&] {
      return ::pread(fd, out.data() + have, bytes - have, static_cast<off_t>(offset + have));
    });
    if (n < 0) return failure(errno, "read a file of the store");
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  out.resize(have);
  return out;
}

Status write_at(int fd, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = uninterrupted(
        [&] { return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (n < 0) return failure(errno, "write a file of the store");
    bytes.remove_prefix(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return Done{};
}

Status sync(int fd) {
  return done_or(uninterrupted([&] { return ::fsync(fd); }), "make a write durable");
}

Status sync_all(int fd) {
  return done_or(uninterrupted([&] { return ::syncfs(fd); }), "make earlier writes durable");
}

Status make_directory(int directory, const std::string& name) {
  if (::mkdirat(directory, name.c_str(), 0700) == 0 || errno == EEXIST) return Done{};
  return failure(errno, "create the directory ", name);
}

Status rename(int directory, const std::string& from, const std::string& to) {
  return done_or(::renameat(directory, from.c_str(), directory, to.c_str()), "write ", to);
}

bool exchange(int directory, const std::string& a, const std::string& b) {
  return ::renameat2(directory, a.c_str(), directory, b.c_str(), RENAME_EXCHANGE) == 0;
}

Status unlink(int directory, const std::string& name) {
  return done_or(::unlinkat(directory, name.c_str(), 0), "remove ", name);
}

bool remove_if_empty(int directory, const std::string& name) {
  return ::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0;
}

Result<FileId> id_of(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return failure(errno, "examine an open file");
  return FileId{info.st_dev, info.st_ino};
}

Result<FileId> id_at(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return failure(errno, "examine ", path);
  return FileId{info.st_dev, info.st_ino};
}

Result<FileId> id_at(int directory, const std::string& name) {
  struct stat info {};
  if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return failure(errno, "examine ", name);
  }
  return FileId{info.st_dev, info.st_ino};
}

Result<std::vector<Entry>> entries(int directory, const std::string& name) {
  auto fd = open_at(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!fd) return fd.error();
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd->get()), ::closedir);
  if (!stream) return failure(errno, "list ", name);
  const int listed = fd->release();  // Of the stream now.
  std::vector<Entry> found;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view entry_name = entry->d_name;
    if (entry_name == "." || entry_name == "..") continue;
    bool is_directory = entry->d_type == DT_DIR;
    if (entry->d_type == DT_UNKNOWN) {
      struct stat info {};
      is_directory = ::fstatat(listed, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                     S_ISDIR(info.st_mode);
    }
    found.push_back({std::string(entry_name), is_directory});
  }
  if (errno != 0) return failure(errno, "list ", name);
  return found;
}

std::string foreign_file_system(int fd) {
  struct statfs info {};
  if (::fstatfs(fd, &info) != 0) return {};
  // Those without a name in <linux/magic.h> are given by statfs(2).
  switch (static_cast<std::uint32_t>(info.f_type)) {
    case NFS_SUPER_MAGIC:
      return "NFS";
    case SMB_SUPER_MAGIC:
    case 0xFF534D42U:  // CIFS
    case 0xFE534D42U:  // SMB2
      return "CIFS";
    case 0x65735546U:
      return "FUSE";
    case V9FS_MAGIC:
      return "9P";
    case 0x00C36400U:
      return "CephFS";
    case 0x47504653U:
      return "GPFS";
    case 0x0BD00BD0U:
      return "Lustre";
    case 0x01161970U:
      return "GFS2";
    case 0x7461636FU:
      return "OCFS2";
    case AFS_SUPER_MAGIC:
    case AFS_FS_MAGIC:
      return "AFS";
    default:
      return {};
  }
}

std::string boot_id() {
  const auto fd = open_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY);
  // Without /proc nothing tells one boot from another, so each opening counts as a new one.
  if (!fd) return {};
  const auto text = read_at(fd->get(), 0, 64);
  return text ? std::string(trim(*text)) : std::string();
}

int process_id() {
  return ::getpid();
}

Result<bool> try_flock(int fd) {
  if (uninterrupted([&] { return ::flock(fd, LOCK_EX | LOCK_NB); }) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return failure(errno, "lock the store");
}

void release_flock(int fd) {
  MUSTER_CHECK(::flock(fd, LOCK_UN) == 0);
}

Result<bool> FileLock::try_lock() {
  auto locked = try_flock(file_.get());
  if (!locked || !*locked) return locked;
  std::array<char, 16> text{};
  const int length = std::snprintf(text.data(), text.size(), "%-10d\n", ::getpid());
  // The id is advice for people who wait; the lock holds without it, on a full disk for example.
  [[maybe_unused]] const ssize_t written =
      ::pwrite(file_.get(), text.data(), static_cast<std::size_t>(length), 0);
  return true;
}

void FileLock::unlock() {
  // Or a program that takes the lock and does not say so would be taken for this one.
  constexpr std::string_view kNobody = "          \n";
  [[maybe_unused]] const ssize_t written = ::pwrite(file_.get(), kNobody.data(), kNobody.size(), 0);
  release_flock(file_.get());
}

int FileLock::holder() const {
  const auto text = read_at(file_.get(), 0, 16);
  if (!text) return 0;
  return static_cast<int>(parse_unsigned(trim(*text)).value_or(0));
}

// Lines of /proc/locks: "1: FLOCK  ADVISORY  WRITE 708 08:01:131 0 EOF".
int flock_holder(int fd) {
  struct stat info {};
  const auto table = open_at(AT_FDCWD, "/proc/locks", O_RDONLY);
  if (!table || ::fstat(fd, &info) != 0) return 0;
  const auto text = read_at(table->get(), 0, kLocksBytes);
  if (!text) return 0;
  std::array<char, 64> place{};
  std::snprintf(place.data(), place.size(), " %02x:%02x:%llu ", major(info.st_dev),
                minor(info.st_dev), static_cast<unsigned long long>(info.st_ino));
  for (const std::string_view line : split(*text, '\n')) {
    const auto at = line.find(place.data());
    // One that waits for a lock has an arrow before the kind.
    if (at == line.npos || line.find(": FLOCK ") == line.npos) continue;
    const auto before = line.substr(0, at);
    const auto pid = parse_unsigned(before.substr(before.rfind(' ') + 1));
    // The process that took the lock may have ended while another one inherited the file.
    if (pid && *pid > 0 && (::kill(static_cast<pid_t>(*pid), 0) == 0 || errno == EPERM)) {
      return static_cast<int>(*pid);
    }
  }
  return 0;
}

FileWaiter::FileWaiter()
    : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  MUSTER_CHECK(wake_.valid());
}

Status FileWaiter::watch(int fd) {
  if (!inotify_.valid()) {
    return {Errc::kUnavailable,
            "the kernel provides no more inotify instances; raise fs.inotify.max_user_instances"};
  }
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const int watch = ::inotify_add_watch(inotify_.get(), path.c_str(), IN_MODIFY);
  if (watch < 0) {
    const int why = errno;
    if (why == ENOENT && ::access("/proc/self/fd", F_OK) != 0) {
      return {Errc::kUnavailable,
              "cannot watch the store's journal: /proc is not mounted here; mount it (mount -t "
              "proc proc /proc)"};
    }
    return failure(why, "watch the store's journal");
  }
  // The kernel has ended the old watch by itself if its file is gone.
  if (watched_ >= 0 && watched_ != watch) (void)::inotify_rm_watch(inotify_.get(), watched_);
  watched_ = watch;
  return Done{};
}

void FileWaiter::wake() {
  const std::uint64_t one = 1;
  // The counter cannot overflow: it is drained whenever it is not zero.
  MUSTER_CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
}

bool FileWaiter::wait(Duration limit) {
  std::array<pollfd, 2> fds{pollfd{wake_.get(), POLLIN, 0}, pollfd{inotify_.get(), POLLIN, 0}};
  timespec time{};
  time.tv_sec = limit.count() / 1'000'000'000;
  time.tv_nsec = limit.count() % 1'000'000'000;
  const int ready =
      ::ppoll(fds.data(), fds.size(), limit == Duration::max() ? nullptr : &time, nullptr);
  MUSTER_CHECK(ready >= 0 || errno == EINTR);
  if (ready <= 0) return false;
  if (fds[0].revents != 0) {
    std::uint64_t drained = 0;
    if (::read(wake_.get(), &drained, sizeof drained) < 0) MUSTER_CHECK(errno == EAGAIN);
  }
  if (fds[1].revents == 0) return false;
  // What the events say does not matter, an overflow among them included: the file has changed.
  alignas(inotify_event) std::array<char, 4096> events;
  while (::read(inotify_.get(), events.data(), events.size()) > 0) {
  }
  return true;
}

}  // namespace muster::files
