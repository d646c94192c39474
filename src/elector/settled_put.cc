#include "elector/settled_put.h"

#include "base/check.h"

namespace muster {
namespace {

constexpr int kSendsMax = 3;

/// True while the object is as it was before the write.
bool is_untouched(const Result<Object>& found, const Precondition& when) {
  if (when.kind == Precondition::Kind::kAbsent) return found.is(Errc::kNotFound);
  return found.ok() && found->revision == when.revision;
}

}  // namespace

Result<Revision> settled_put(SyncStore& store, const Key& key, const std::string& body,
                             const Precondition& when) {
  // Each caller says absent() or at() in the source: no store's answer makes it none().
  MUSTER_CHECK(when.kind != Precondition::Kind::kNone);
  bool open = false;  // An earlier send may have landed or may land yet.
  std::string why;
  for (int sends = 0; sends < kSendsMax; ++sends) {
    const Result<Revision> put = store.put(key, body, when);
    if (put) return put;
    // A conflict is looked at, too: a proxy may have sent the write twice, unseen by us.
    open = open || put.is(Errc::kConflict) || put.is(Errc::kAmbiguous);
    if (!open) return put;
    why = put.error().message;
    const Result<Object> found = store.get(key);
    if (found && found->body == body) return found->revision;
    if (is_untouched(found, when)) continue;
    if (!found && !found.is(Errc::kNotFound)) break;
    if (found && !found->damage.empty()) break;  // Whose it was cannot be told.
    return {Errc::kConflict, key + " was written by another process"};
  }
  return {Errc::kAmbiguous, "the write of " + key + " is not settled: " + why};
}

}  // namespace muster
