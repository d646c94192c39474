#include "server/engine/data_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace muster::engine {

Result<std::unique_ptr<DataDirectory>> DataDirectory::open(const std::string& data_dir) {
  const auto parent = files::open_or_make_directory(data_dir);
  if (!parent) return parent.error();
  const std::string path = data_dir + "/engine";
  const auto directory = files::open_or_make_directory(path);
  if (!directory) return directory.error();
  // etcd accepts every client that can enter.
  if (::fchmod(directory->get(), 0700) != 0) {
    return files::failure(errno, "make private ", path);
  }
  auto file = files::open_at(directory->get(), "lock", O_RDWR | O_CREAT);
  if (!file) return file.error();
  files::FileLock lock(std::move(*file));
  const auto locked = lock.try_lock();
  if (!locked) return locked.error();
  if (!*locked) {
    return {Errc::kConflict,
            "the data directory " + data_dir + " is in use by another musterd" +
                (lock.holder() > 0 ? " (process " + std::to_string(lock.holder()) + ")" : "")};
  }
  return std::unique_ptr<DataDirectory>(new DataDirectory(path, std::move(lock)));
}

bool DataDirectory::has_data() const {
  std::error_code absent;
  for (const auto& entry :
       std::filesystem::directory_iterator(path_ + "/etcd/member/wal", absent)) {
    if (entry.path().extension() == ".wal") return true;
  }
  return false;
}

bool DataDirectory::in_use() const {
  const UniqueFd file(::open((path_ + "/etcd/member/snap/db").c_str(), O_RDWR | O_CLOEXEC));
  return file.valid() && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void DataDirectory::remove_socket() const {
  std::error_code absent;  // One that cannot be removed shows when etcd cannot listen.
  std::filesystem::remove(path_ + "/localhost:2379", absent);
}

}  // namespace muster::engine
