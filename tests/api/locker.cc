// A holder of a lock as a process, for tests that kill or freeze it:
//   locker URL NAME TTL_MS
// It prints "held TOKEN", and "lost", with " held" if it still believes that it holds the lock,
// when the lock is lost. It unlocks and ends when its standard input does.

#include <muster/lock.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace {

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 64;
  auto arbiter = muster::Arbiter::open(words[1]);
  if (!arbiter) return 1;
  muster::LockOptions options;
  options.ttl = muster::Duration(std::atoll(words[3]) * 1'000'000);
  std::optional<muster::Lock> lock;
  options.on_lost = [&lock](const muster::Error&) { say(lock->held() ? "lost held" : "lost"); };
  auto taken = muster::Lock::acquire(*arbiter, words[2], options);
  if (!taken) {
    std::fprintf(stderr, "%s\n", taken.message().c_str());
    return 1;
  }
  lock = std::move(taken).value();
  say("held " + std::to_string(lock->token()));
  while (std::getchar() != EOF) {
  }
  return lock->unlock().ok() ? 0 : 2;
}
