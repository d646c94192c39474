// Leads once in memory, with nothing but the public headers.
#include <muster/leader.h>

#include <cstdio>

int main() {
  auto arbiter = muster::Arbiter::open("memory:").value();
  auto led = muster::lead(arbiter, "outside", {}, [](const muster::Term& term) {
    std::printf("%s leads with token %d\n", muster::version(), static_cast<int>(term.token()));
  });
  return led ? 0 : 1;
}
