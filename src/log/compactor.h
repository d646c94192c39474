#pragma once

#include <memory>
#include <string>

#include "log/context.h"
#include "log/manifest_cell.h"
#include "log/snapshot_fetch.h"
#include "log/sweep.h"

namespace muster::rlog {

/// Turns the log so far into a snapshot (rules L5, L6): writes the parts and reads them back, swaps
/// the manifest, raises the floor, and only then deletes numbers and old parts. A failure at any
/// step leaves everything readable; a later compaction removes what it wrote. One at a time.
/// Threads: loop thread only.
class Compactor {
 public:
  Compactor(Context& context, ManifestCell& manifest) : context_(context), manifest_(manifest) {}

  [[nodiscard]] bool running() const { return done_ != nullptr; }
  /// `image` is the state at `position`.
  void start(Position position, std::unique_ptr<SnapshotReader> image, Callback<Compacted> done);

 private:
  void write_next_part();
  void write_head();
  void write(const std::string& key, std::string body, int tries, std::function<void()> then);
  void read_back();
  void swap(int tries);
  void raise_floor(int tries);
  void delete_entries();
  void delete_parts();
  void end(Result<Compacted> result);

  Context& context_;
  ManifestCell& manifest_;
  SnapshotRef ref_;
  SnapshotHead head_;
  std::string set_;
  std::unique_ptr<SnapshotReader> image_;
  std::unique_ptr<SnapshotFetch> fetch_;
  std::unique_ptr<Sweep> sweep_;
  Callback<Compacted> done_;
  Lifetime lifetime_;
};

}  // namespace muster::rlog
