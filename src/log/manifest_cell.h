#pragma once

#include <deque>
#include <functional>
#include <string>

#include "core/log/manifest.h"
#include "log/context.h"

namespace muster::rlog {

/// The manifest as this replica last read or wrote it. Calls run one after another, so a late
/// answer is never mistaken for a newer one. Threads: loop thread only.
class ManifestCell {
 public:
  explicit ManifestCell(Context& context) : context_(context) {}

  [[nodiscard]] bool known() const { return !revision_.value().empty(); }
  [[nodiscard]] const Manifest& value() const { return value_; }
  [[nodiscard]] const Revision& revision() const { return revision_; }

  /// Reads it, later than this call. A passing error (is_passing) proves nothing; kNotFound only
  /// before it was ever known; any other error ends this replica (L1).
  void refresh(Callback<Done> done);
  /// Replaces the known manifest by the result of `change`. Any outcome but success is read back.
  /// kConflict: another change came first, or `change` refused. kAmbiguous: the change may land
  /// yet, and nothing may be concluded from it.
  using Change = std::function<Result<Manifest>(const Manifest&)>;
  void swap(Change change, Callback<Done> done);
  /// Creates the first one. kConflict: it exists already.
  void create(Manifest manifest, Callback<Done> done);

 private:
  using Work = std::function<void(Callback<Done>)>;
  void enqueue(Work work, Callback<Done> done);
  void run();
  void read(Callback<Done> done);
  void write(Manifest next, Callback<Done> done);
  [[nodiscard]] Status adopt(const Object& object);

  Context& context_;
  Manifest value_;
  Revision revision_;
  struct Task {
    Work work;
    Callback<Done> done;
  };
  std::deque<Task> tasks_;  ///< The first one is under way.
  Lifetime lifetime_;
};

}  // namespace muster::rlog
