#include "platform/waiting_line.h"

#include <fcntl.h>

#include <cerrno>

namespace muster::files {
namespace {

// Two that arrive in the same nanosecond stand side by side; so many never do.
constexpr int kSameInstantMax = 64;

struct flock bytes(short type, std::uint64_t from, std::uint64_t count) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(from);
  range.l_len = static_cast<off_t>(count);  // 0: up to the end of all files.
  return range;
}

}  // namespace

bool WaitingLine::may_ask(MonoTime now) {
  overtakes_ = somebody_before(now);
  if (!overtakes_) return true;
  if (!place_) join(now);
  // Without a place, on a file system that cannot lock bytes, there is no line to stand in.
  return !place_ || now - patient_since_ >= kPatience;
}

void WaitingLine::was_refused(MonoTime now) {
  if (!place_) join(now);
  // While the lock is in use, nobody lets a turn pass.
  patient_since_ = now;
}

void WaitingLine::was_served(MonoTime now) {
  if (overtakes_ && place_) {
    overtaken_ = *place_;
    overtaken_until_ = now + kOvertaken;
  }
  leave();
}

void WaitingLine::leave() {
  if (!place_) return;
  struct flock mine = bytes(F_UNLCK, *place_, 1);
  // It cannot fail for a byte that is locked; if it did, the others would overtake.
  (void)::fcntl(fd_, F_OFD_SETLK, &mine);
  place_.reset();
}

void WaitingLine::join(MonoTime now) {
  patient_since_ = now;
  auto at = static_cast<std::uint64_t>(now.time_since_epoch().count());
  for (int i = 0; i < kSameInstantMax; ++i, ++at) {
    struct flock mine = bytes(F_WRLCK, at, 1);
    if (::fcntl(fd_, F_OFD_SETLK, &mine) == 0) {
      place_ = at;
      return;
    }
    if (errno != EAGAIN && errno != EACCES) return;
  }
}

bool WaitingLine::somebody_before(MonoTime now) const {
  const std::uint64_t from = now < overtaken_until_ ? overtaken_ + 1 : 0;
  if (place_ && *place_ <= from) return false;
  // The own byte never counts: a lock does not conflict with those of the same open file.
  struct flock range = bytes(F_WRLCK, from, place_ ? *place_ - from : 0);
  return ::fcntl(fd_, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

}  // namespace muster::files
