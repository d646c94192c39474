/* Preloaded into a program: its wall clock jumps by JUMP seconds, one second after its first look. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

typedef int (*Gettime)(clockid_t, struct timespec*);

int clock_gettime(clockid_t id, struct timespec* now) {
  static Gettime real;
  static time_t first;
  struct timespec steady;
  int result;
  if (!real) real = (Gettime)dlsym(RTLD_NEXT, "clock_gettime");
  result = real(id, now);
  if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE) return result;
  real(CLOCK_MONOTONIC, &steady);
  if (!first) first = steady.tv_sec;
  if (steady.tv_sec > first) now->tv_sec += atol(getenv("JUMP"));
  return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  struct timespec time;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}
