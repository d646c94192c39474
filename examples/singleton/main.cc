// A task that runs in one process of many: start it several times and stop the one that prints.
//   singleton file:///tmp/muster-example
// The task asks its term before each effect, and is asked to stop before the lease ends.
#include <muster/run.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <stop_token>
#include <thread>

static std::stop_source stop;

static muster::Status count(const muster::Term& term, std::stop_token stopped) {
  for (int i = 1; !stopped.stop_requested() && term.valid(); ++i) {
    std::printf("epoch %llu: %d\n", static_cast<unsigned long long>(term.token()), i);
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return muster::Done{};
}

int main(int argc, char** argv) try {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { stop.request_stop(); });
  auto arbiter = muster::Arbiter::open(argc == 2 ? argv[1] : "").value();
  muster::Child task;
  task.name = "count";
  task.task = count;
  const auto supervisor = muster::Supervisor::make({task}).value();
  const auto work = [&](const muster::Term& term) {
    if (const auto end = supervisor.run(term)) std::fprintf(stderr, "%s\n", end->message.c_str());
  };
  const auto led = muster::lead(arbiter, "singleton", stop.get_token(), work);
  if (!led) std::fprintf(stderr, "%s\n", led.message().c_str());
  return led ? 0 : 1;
} catch (const muster::BadResult& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 64;
}
