// Takes part in an election on SQLite and prints its terms, until it is ended:
//   elect sqlite:///path/of/a/file
#include <muster/leader.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "sqlite_store.h"

int main(int argc, char** argv) try {
  if (argc != 2) return 64;
  muster::register_scheme("sqlite", SqliteStore::open).value();
  auto arbiter = muster::Arbiter::open(argv[1]).value();
  arbiter.probe().value();
  muster::LeaderOptions options;
  options.lease = std::chrono::seconds(2);
  auto led = muster::lead(
      arbiter, "example", {},
      [](const muster::Term& term) {
        std::printf("leading with token %llu\n", static_cast<unsigned long long>(term.token()));
        std::fflush(stdout);
        while (term.valid()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      },
      options);
  led.value();
} catch (const muster::BadResult& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 1;
}
