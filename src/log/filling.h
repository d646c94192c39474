#pragma once

#include <string>

#include "log/context.h"
#include "log/manifest_cell.h"

namespace muster::rlog {

/// Fills an empty store with a log from elsewhere. Until it is opened, the store is marked as
/// pending and every replica refuses it. After a crash it can be repeated from the start with the
/// same id. Threads: loop thread only.
class Filling {
 public:
  Filling(Context& context, std::string id)
      : context_(context), id_(std::move(id)), cell_(context) {}

  /// Marks the store. kConflict if it has a log, or is being filled by another.
  void begin(std::string log_id, std::string origin, Callback<Done> done);
  /// Reads the mark again. kConflict if it is not this one.
  void look(Callback<Done> done);
  /// It was already filled and opened; there is nothing left to do.
  [[nodiscard]] bool opened() const;
  /// Writes one object, under its key without the log's prefix. kConflict if another is there.
  void put(const Key& key, std::string body, Callback<Done> done);
  /// Turns it into the log that `manifest` describes; a seal in it was for this move.
  void open(Manifest manifest, Callback<Done> done);

 private:
  Context& context_;
  std::string id_;
  ManifestCell cell_;
  Lifetime lifetime_;
};

}  // namespace muster::rlog
