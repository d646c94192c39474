#pragma once

#include <deque>
#include <functional>
#include <string>

#include "core/log/manifest.h"
#include "log/context.h"

namespace muster::rlog {

/// The manifest as this replica last read or wrote it. Calls are carried out one after another, so
/// that a late answer is never taken for a newer one. Loop thread only.
class ManifestCell {
 public:
  explicit ManifestCell(Context& context) : context_(context) {}

  [[nodiscard]] bool known() const { return !revision_.value().empty(); }
  [[nodiscard]] const Manifest& value() const { return value_; }
  [[nodiscard]] const Revision& revision() const { return revision_; }

  /// Reads it, later than this call. A passing error (is_passing) says nothing; kNotFound only
  /// before it was ever known; anything else is the end of this replica (L1).
  void refresh(Callback<Done> done);
  /// Replaces the manifest that is known by what `change` makes of it. Whatever is answered other
  /// than success is read back. kConflict: another's change came first, or `change` refused.
  /// kAmbiguous: it may land yet, and nothing may be concluded from it.
  using Change = std::function<Result<Manifest>(const Manifest&)>;
  void swap(Change change, Callback<Done> done);
  /// Makes the first one. kConflict: there is one.
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
