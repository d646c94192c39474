#pragma once

#include <string>

#include "log/context.h"
#include "log/manifest_cell.h"

namespace muster::rlog {

/// Fills an empty store with a log that exists elsewhere. Until it is opened, the store is marked
/// as pending and every replica refuses it. Can be done again from the start after a crash, by the
/// same id. Loop thread only.
class Filling {
 public:
  Filling(Context& context, std::string id)
      : context_(context), id_(std::move(id)), cell_(context) {}

  /// Marks the store. kConflict when a log, or another filling, is there.
  void begin(std::string log_id, std::string origin, Callback<Done> done);
  /// Reads the mark again. kConflict when it is not ours.
  void look(Callback<Done> done);
  /// It was filled and opened before; there is nothing left to do.
  [[nodiscard]] bool opened() const;
  /// Writes one object, under its key without the log's prefix. kConflict when another is there.
  void put(const Key& key, std::string body, Callback<Done> done);
  /// Makes it the log that `manifest` describes; its seal, when there is one, was for this.
  void open(Manifest manifest, Callback<Done> done);

 private:
  Context& context_;
  std::string id_;
  ManifestCell cell_;
  Lifetime lifetime_;
};

}  // namespace muster::rlog
