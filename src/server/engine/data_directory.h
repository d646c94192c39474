#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "platform/files.h"

namespace muster::engine {

/// The directory of a managed engine, held by one musterd at a time:
///   DATA/engine/lock             who holds it
///   DATA/engine/localhost:2379   etcd's socket, while it runs
///   DATA/engine/etcd/            etcd's data
/// Loop thread only.
class DataDirectory {
 public:
  /// Creates missing parts and takes the lock. kConflict if another musterd has it.
  [[nodiscard]] static Result<std::unique_ptr<DataDirectory>> open(const std::string& data_dir);

  /// Whether the member has ever promised anything: there is a write-ahead log.
  [[nodiscard]] bool has_data() const;
  /// Some process has etcd's database open. A second etcd would wait for it without a message.
  [[nodiscard]] bool in_use() const;
  /// Removes the socket of a killed etcd. Requires that no process uses the data.
  void remove_socket() const;

 private:
  DataDirectory(std::string path, files::FileLock lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  files::FileLock lock_;
};

}  // namespace muster::engine
