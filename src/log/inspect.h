#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/log/entry.h"
#include "core/log/manifest.h"
#include "log/move.h"

namespace muster::rlog {

/// One object that is not what it must be, and what can be done about it.
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

/// Reads every object that a log consists of and compares it with the digests that others have of
/// it. Changes nothing. A log that is written and compacted meanwhile may look damaged where it is
/// not: what counts is what is found twice. Loop thread only.
class Inspect {
 public:
  Inspect(Loop& loop, Random random, Place place);
  ~Inspect();
  /// An error only when the store does not answer or the manifest cannot be read.
  void start(Callback<Inspection> done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Puts a damaged or lost entry back from a copy (a backup's, another store's after a move). The
/// copy must be proven by the chain: by the entry after it, or by a snapshot that ends with it.
/// kInvalid: it is not proven, or no entry. kUnchanged: the entry in the store is whole.
///
/// What needs no copy: a damaged part of the newer snapshot (open with use_previous_snapshot, then
/// compact), and any damaged entry while one replica that has applied it runs (let it compact).
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
