// What the programs of docs/library.md take for granted: the application around them.
#pragma once

#include <muster/leader.h>

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

inline void write_report(muster::Token token) {
  static int written = 0;
  std::printf("report with token %llu\n", static_cast<unsigned long long>(token));
  std::fflush(stdout);
  if (++written == 3) kill(getpid(), SIGTERM);
}
inline bool migrate_next(muster::Token token) {
  static int step = 0;
  std::printf("step %d with token %llu\n", ++step, static_cast<unsigned long long>(token));
  return step < 3;
}
inline void serve(const muster::Term& term) {
  std::printf("serving with token %llu\n", static_cast<unsigned long long>(term.token()));
}
