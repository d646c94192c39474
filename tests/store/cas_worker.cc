// One of many processes that append to one list by compare-and-swap.
//   cas_worker URL KEY NAME COUNT
// Prints "predecessor entry" for each append that it knows to have landed.
#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/cas_list.h"
#include "tests/support/store_conformance.h"

int main(int argc, char** argv) {
  using namespace muster;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc != 5) {
    std::fprintf(stderr, "usage: cas_worker URL KEY NAME COUNT\n");
    return 64;
  }
  const std::string key = argv[2];
  const std::string name = argv[3];
  const int count = std::atoi(argv[4]);
  LoopThread thread;
  TestStore store(thread, open_url(argv[1]));
  const Deadline give_up = thread.loop().now() + 100s;
  // Servers may be failing on purpose just now; that is no verdict about them.
  Status safe = probe(store);
  while (safe.is(Errc::kUnavailable) && thread.loop().now() < give_up) safe = probe(store);
  if (!safe) {
    std::fprintf(stderr, "%s\n", safe.error().message.c_str());
    return 1;
  }
  for (int i = 0; i < count; ++i) {
    const auto step = append_by_cas(store, key, name + "." + std::to_string(i), give_up);
    if (!step) {
      std::fprintf(stderr, "%s\n", step.error().message.c_str());
      return 1;
    }
    std::printf("%s %s\n", step->predecessor.value().c_str(), step->entry.c_str());
    std::fflush(stdout);
  }
  return 0;
}
