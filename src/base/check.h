#pragma once

#include <cstdio>
#include <cstdlib>

/// Ends the process if an invariant is broken, in release builds too: a coordinator that goes on
/// with a state it does not understand can run work twice; a dead one cannot.
#define MUSTER_CHECK(condition)                                                          \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
