#include "bench/load.h"

#include <sys/resource.h>

#include <future>

#include "base/check.h"
#include "platform/system_clock.h"

namespace muster::bench {
namespace {

double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

Duration process_cpu() {
  rusage used{};
  MUSTER_CHECK(::getrusage(RUSAGE_SELF, &used) == 0);
  const auto time = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
  };
  return time(used.ru_utime) + time(used.ru_stime);
}

double Cost::per_second() const {
  return static_cast<double>(operations) / seconds(wall);
}

double Cost::cpu_us() const {
  return seconds(cpu) * 1e6 / static_cast<double>(operations);
}

Cost run_load(LoopThread& thread, std::size_t lanes, Duration time, const Operation& operation) {
  Cost cost;
  std::promise<void> ended;
  std::size_t running = lanes;
  const Duration cpu_before = process_cpu();
  const MonoTime began = boot_now();
  std::function<void(std::size_t)> next = [&](std::size_t lane) {
    operation(lane, [&, lane] {
      ++cost.operations;
      if (boot_now() < began + time) return next(lane);
      if (--running == 0) ended.set_value();
    });
  };
  thread.loop().post([&] {
    for (std::size_t lane = 0; lane < lanes; ++lane) next(lane);
  });
  ended.get_future().wait();
  cost.wall = boot_now() - began;
  cost.cpu = process_cpu() - cpu_before;
  thread.run([] {});  // The last completion has left this function's variables.
  return cost;
}

}  // namespace muster::bench
