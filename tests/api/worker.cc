// A candidate as a process, for tests that kill it:
//   worker URL NAME ID LEASE_MS MODE
// MODE `work` works while its term is valid; `overrun` holds its term for ever, and ends by it.
// It prints "leading TOKEN" and "stopped", and ends when its standard input does.

#include <muster/leader.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace {

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

void wait_for(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, stop, [] { return false; });
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 64;
  const bool overruns = words[5] == std::string("overrun");
  std::stop_source stop;
  std::jthread input([&] {
    while (std::getchar() != EOF) {
    }
    stop.request_stop();
  });
  auto arbiter = muster::Arbiter::open(words[1]);
  if (!arbiter) {
    std::fprintf(stderr, "%s\n", arbiter.message().c_str());
    return 1;
  }
  muster::LeaderOptions options;
  options.id = words[3];
  options.lease = muster::Duration(std::atoll(words[4]) * 1'000'000);
  options.overrun = overruns ? muster::Overrun::kExit : muster::Overrun::kReport;
  const auto led = muster::lead(
      *arbiter, words[2], stop.get_token(),
      [&](const muster::Term& term) {
        say("leading " + std::to_string(term.token()));
        wait_for(overruns ? std::stop_source().get_token() : term.stopping());
        say("stopped");
      },
      options);
  if (!led) std::fprintf(stderr, "%s\n", led.message().c_str());
  return led ? 0 : 1;
}
