#pragma once

#include <functional>
#include <string>

#include "core/log/entry.h"
#include "core/log/manifest.h"
#include "log/context.h"
#include "log/manifest_cell.h"

namespace muster::rlog {

/// Reads a whole log from its store: the latest snapshot, then the entries after it. It verifies
/// each object and passes them to a sink one at a time. For backups and moves. Loop thread only.
class Export {
 public:
  /// Gets an object under its key without the log's prefix; calls `done` when it can take more.
  using Sink = std::function<void(Key key, std::string body, Callback<Done> done)>;
  struct Outcome {
    Manifest manifest;  ///< For a store that holds exactly what was exported.
    Position end;       ///< After the last entry exported.
  };

  Export(Context& context, Sink sink)
      : context_(context), sink_(std::move(sink)), manifest_(context) {}

  /// Exports up to the head, or to the seal if there is one. kUnavailable: the store did not
  /// answer, or the log was compacted meanwhile; try again. kCorrupt names the object.
  void start(Callback<Outcome> done);

 private:
  void begin();
  void head();
  void next_part();
  void next_entry();
  void confirm();
  void get(const Key& key, std::function<void(Result<std::string>)> then);
  void give(const Key& key, std::string body, std::function<void()> then);
  void fail(const Error& error);

  Context& context_;
  Sink sink_;
  ManifestCell manifest_;
  Manifest source_;  ///< As it was when the export began.
  SnapshotHead head_;
  std::string set_;
  std::size_t part_ = 0;
  Position position_;
  Callback<Outcome> done_;
  Lifetime lifetime_;
};

}  // namespace muster::rlog
