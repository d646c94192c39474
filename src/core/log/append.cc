#include "core/log/append.h"

#include <algorithm>
#include <utility>

namespace muster::rlog {

Append::Step Append::go_on(Step step, MonoTime now) const {
  // The bytes may still land; giving up claims nothing about them.
  if (now >= terms_.give_up_at) return {Unknown{}, {}};
  return step;
}

Append::Step Append::settle() {
  if (seen_ == Seen::kOwn) return {Own{}, {}};
  return {Other{std::move(other_)}, {}};
}

Append::Step Append::put_answered(const Status& answer, MonoTime now) {
  if (answer.ok()) {
    seen_ = Seen::kOwn;
    if (terms_.guarded) return settle();
    return go_on({ReadManifest{}, {}}, now);
  }
  switch (answer.code()) {
    case Errc::kConflict:
      return go_on({ReadEntry{}, {}}, now);
    case Errc::kUnavailable:
    case Errc::kThrottled:
      // This one was not written. An earlier one may have been: the same bytes go out again.
      // However long the store asks for, clients wait no longer than until this is given up.
      return go_on({Put{}, std::max(terms_.retry_wait, std::min(answer.error().retry_after,
                                                                (terms_.give_up_at - now) / 2))},
                   now);
    default:
      return go_on({ReadEntry{}, terms_.retry_wait}, now);
  }
}

Append::Step Append::entry_read(Result<std::string> body, MonoTime now) {
  if (!body.ok() && !body.is(Errc::kNotFound)) {
    return go_on({ReadEntry{}, terms_.retry_wait}, now);
  }
  if (!body.ok()) {
    seen_ = Seen::kAbsent;
    return go_on({ReadManifest{}, {}}, now);
  }
  seen_ = *body == body_ ? Seen::kOwn : Seen::kOther;
  if (seen_ == Seen::kOther) other_ = std::move(*body);
  // Where every creation looks at the floor itself, what is there counts.
  if (terms_.guarded) return settle();
  return go_on({ReadManifest{}, {}}, now);
}

Append::Step Append::manifest_read(const Result<Index>& floor, MonoTime now) {
  if (!floor.ok()) return go_on({ReadManifest{}, terms_.retry_wait}, now);
  if (*floor >= number_) return {Unknown{.compacted = true}, {}};
  if (seen_ != Seen::kAbsent) return settle();
  // Not there yet: it may land any time, so nothing else may be sent for this number.
  return go_on({Put{}, {}}, now);
}

}  // namespace muster::rlog
