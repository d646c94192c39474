#include "rpc/read_pace.h"

#include <algorithm>

namespace muster::rpc {
namespace {

/// One message may come alone by chance.
constexpr std::uint8_t kLoneMax = 3;

}  // namespace

bool ReadPace::read(std::uint32_t messages, MonoTime now, const Options& options) {
  if (messages == 0) return patient_;
  // A pause is no part of what is measured.
  if (now - window_began_ > 4 * options.window) {
    patient_ = false;
    begin_window(now);
  }
  messages_ += messages;
  ++reads_;
  lone_ = patient_ && messages == 1 ? static_cast<std::uint8_t>(lone_ + 1) : std::uint8_t{0};
  if (lone_ == kLoneMax) give_up(now, options);
  if (now - window_began_ >= options.window) judge(now, options);
  return patient_;
}

void ReadPace::begin_window(MonoTime now) {
  window_began_ = now;
  messages_ = 0;
  reads_ = 0;
}

void ReadPace::give_up(MonoTime now, const Options& options) {
  patient_ = false;
  lone_ = 0;
  rest_ = std::clamp(rest_ * 2, options.rest_min, options.rest_max);
  rests_until_ = now + rest_;
  begin_window(now);
}

void ReadPace::judge(MonoTime now, const Options& options) {
  const auto in_a_window = static_cast<std::uint32_t>(messages_ * (options.window.count() / 1000) /
                                                      ((now - window_began_).count() / 1000));
  const bool hot = in_a_window >= options.hot;
  const bool single = messages_ < options.full * reads_;
  if (!patient_) {
    if (hot && single && now >= rests_until_) {
      patient_ = true;
      hot_since_ = now;
      without_delay_ = in_a_window;
    }
  } else if (in_a_window * 4 < without_delay_ * 3 || messages_ < 2 * reads_) {
    return give_up(now, options);
  } else if (now - hot_since_ >= options.hot_for) {
    patient_ = false;
    rest_ = Duration::zero();
  }
  begin_window(now);
}

}  // namespace muster::rpc
