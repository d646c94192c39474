#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/log/entry.h"
#include "core/log/manifest.h"
#include "log/move.h"

namespace muster::rlog {

/// A damaged or missing object, and its remedy.
struct Finding {
  Key object;
  std::string problem;
  std::string remedy;
};

struct Inspection {
  Manifest manifest;
  Index head;  ///< The last entry that follows without a gap.
  std::uint64_t objects = 0;
  std::vector<Finding> findings;
};

/// Reads every object of a log and compares it with the digests in other objects. Changes nothing.
/// A log that is being written and compacted may look damaged where it is not: trust only findings
/// that repeat. Threads: loop thread only.
class Inspect {
 public:
  Inspect(Loop& loop, Random random, Place place);
  ~Inspect();
  /// Returns an error only if the store does not answer or the manifest cannot be read.
  void start(Callback<Inspection> done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Restores a damaged or lost entry from a copy (in a backup, or in another store after a move).
/// The chain must prove the copy: the entry after it, or a snapshot that ends with it. kInvalid: it
/// is unproven, or not an entry. kUnchanged: the entry in the store is intact.
///
/// Not needed for a damaged part of the newer snapshot (open with use_previous_snapshot, then
/// compact), nor for a damaged entry while one replica that has applied it runs (let it compact).
class RepairEntry {
 public:
  RepairEntry(Loop& loop, Random random, Place place, Index index, std::string copy);
  ~RepairEntry();
  void start(Callback<Done> done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::rlog
