// Preloaded into a program: its wall clock is JUMP seconds off, from JUMP_AFTER seconds (default:
// 1) after its first look on. Clocks that count from the start of the machine are left alone, as
// timers are: libfaketime shifts those as well, and makes some of them fail.
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

namespace {

using Gettime = int (*)(clockid_t, timespec*);

long number(const char* name, long otherwise) {
  const char* text = ::getenv(name);
  return text == nullptr ? otherwise : ::atol(text);
}

}  // namespace

extern "C" int clock_gettime(clockid_t id, timespec* now) noexcept {
  static const auto real = reinterpret_cast<Gettime>(::dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(id, now);
  if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE) return result;
  timespec steady{};
  real(CLOCK_MONOTONIC, &steady);
  static const time_t first = steady.tv_sec;
  if (steady.tv_sec >= first + number("JUMP_AFTER", 1)) now->tv_sec += number("JUMP", 0);
  return result;
}

extern "C" int gettimeofday(timeval* __restrict now, void* __restrict) noexcept {
  timespec time{};
  if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}
