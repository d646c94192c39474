#include "core/membership/cause.h"

#include <cstdint>

namespace muster::membership {
namespace {

enum CauseField : std::uint32_t {
  kCauseHeartbeatAt = 1,
  kSilence = 2,
  kSuspectAfter = 3,
  kDownAfter = 4,
  kRecentSuspicions = 5,
  kDamped = 6,
  kListened = 7,
  kGrace = 8,
  kDownAllowed = 9,
  kDownInUse = 10,
};

void write_ms(WireWriter& out, std::uint32_t field, Duration d) {
  out.number(field, static_cast<std::uint64_t>(to_ms(d)));
}

Duration read_ms(WireReader& in) {
  // A year: more than any timeout, and far from where nanoseconds overflow.
  constexpr std::uint64_t kMsMax = 366ULL * 24 * 3600 * 1000;
  return std::chrono::milliseconds(in.number(kMsMax));
}

void read_field(WireReader& in, Cause& cause) {
  switch (in.field()) {
    case kCauseHeartbeatAt:
      cause.last_heartbeat_at = in.wall();
      break;
    case kSilence:
      cause.silence = read_ms(in);
      break;
    case kSuspectAfter:
      cause.timeouts.suspect_after = read_ms(in);
      break;
    case kDownAfter:
      cause.timeouts.down_after = read_ms(in);
      break;
    case kRecentSuspicions:
      cause.timeouts.recent_suspicions = in.number();
      break;
    case kDamped:
      cause.timeouts.damped = in.number(1) == 1;
      break;
    case kListened:
      cause.listened = read_ms(in);
      break;
    case kGrace:
      cause.grace = read_ms(in);
      break;
    case kDownAllowed:
      cause.down_allowed = in.number();
      break;
    case kDownInUse:
      cause.down_in_use = in.number();
      break;
    default:
      break;
  }
}

}  // namespace

void write(WireWriter& out, const Cause& cause) {
  out.wall(kCauseHeartbeatAt, cause.last_heartbeat_at);
  write_ms(out, kSilence, cause.silence);
  write_ms(out, kSuspectAfter, cause.timeouts.suspect_after);
  write_ms(out, kDownAfter, cause.timeouts.down_after);
  out.number(kRecentSuspicions, cause.timeouts.recent_suspicions);
  out.number(kDamped, cause.timeouts.damped ? 1 : 0);
  write_ms(out, kListened, cause.listened);
  write_ms(out, kGrace, cause.grace);
  out.number(kDownAllowed, cause.down_allowed);
  out.number(kDownInUse, cause.down_in_use);
}

bool read(std::string_view bytes, Cause& cause) {
  cause = {};
  WireReader in(bytes);
  while (in.next()) read_field(in, cause);
  return !in.failed();
}

}  // namespace muster::membership
