#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "platform/event_loop.h"
#include "store/store.h"
#include "tests/support/child_process.h"
#include "tests/support/etcd_cluster.h"
#include "tests/support/postgres_server.h"
#include "tests/support/radosgw.h"

namespace muster::bench {

/// A store under measurement, opened on a loop of its own, and what is counted beside it.
class Subject {
 public:
  using Count = std::function<std::uint64_t()>;

  /// Ends the process with a sentence when the store cannot be opened or fails its probe.
  Subject(std::string name, const std::string& url);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] LoopThread& thread() { return thread_; }
  [[nodiscard]] ObjectStore& store() { return *store_; }
  /// fsyncs so far; always zero for a store that is no directory.
  [[nodiscard]] std::uint64_t syncs();

  /// Requests that the server says it was sent, for a store that has a server.
  Count requests = [] { return 0; };

 private:
  const std::string name_;
  LoopThread thread_;
  std::unique_ptr<ObjectStore> store_;
};

/// The servers and directories that the subjects live on; everything ends with it.
class Stores {
 public:
  Stores();
  [[nodiscard]] std::unique_ptr<Subject> memory();
  /// Without syncs on a file system in memory: the store's own cost, nothing of a disk's.
  [[nodiscard]] std::unique_ptr<Subject> file_on_tmpfs();
  [[nodiscard]] std::unique_ptr<Subject> file_without_sync();
  [[nodiscard]] std::unique_ptr<Subject> file();
  [[nodiscard]] std::unique_ptr<Subject> s3();
  [[nodiscard]] std::unique_ptr<Subject> etcd();
  [[nodiscard]] std::unique_ptr<Subject> postgres();

  /// What the directories are on, such as "ext4".
  [[nodiscard]] std::string file_system() const;

 private:
  TempDir dir_;
  TempDir tmpfs_{"/dev/shm"};
  RadosGateway gateway_;
  testing::EtcdCluster etcd_;
  testing::PostgresServer postgres_;
};

}  // namespace muster::bench
