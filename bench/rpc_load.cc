#include "bench/rpc_load.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "platform/system_clock.h"

namespace muster::bench {

const char* name_of(Client client) {
  return client == Client::kOwn ? "our client" : "gRPC's client";
}

std::unique_ptr<RpcPump> make_pump(Client client) {
  return client == Client::kOwn ? own_pump() : grpc_pump();
}

void give_up(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), why.c_str());
  std::exit(1);
}

void RpcPump::run_until(const std::function<bool()>& done, Duration limit) {
  const MonoTime end = boot_now() + limit;
  while (!done()) {
    if (step(end)) continue;
    give_up("the servers", "there was no answer in time");
  }
}

void RpcPump::run_paced(Duration time, double per_second, const std::function<void()>& tick) {
  const MonoTime begin = boot_now();
  const auto count =
      static_cast<std::uint64_t>(std::chrono::duration<double>(time).count() * per_second);
  for (std::uint64_t i = 0; i < count; ++i) {
    const MonoTime due = begin + scale(1s, static_cast<double>(i) / per_second);
    while (boot_now() < due) step(due);
    tick();
  }
  run_for(begin + time - boot_now());
}

void RpcPump::run_for(Duration time) {
  const MonoTime end = boot_now() + time;
  while (boot_now() < end) step(end);
}

double LoadResult::per_second() const {
  return static_cast<double>(answered) / std::chrono::duration<double>(wall).count();
}

LoadResult closed_loop(RpcPump& pump, std::size_t lanes, Duration time, const Start& start) {
  LoadResult result;
  std::size_t running = lanes;
  const MonoTime began = boot_now();
  std::function<void(std::size_t)> next = [&](std::size_t lane) {
    const MonoTime sent = boot_now();
    start(lane, [&, lane, sent] {
      const MonoTime now = boot_now();
      ++result.answered;
      result.latencies_ms.push_back(std::chrono::duration<double, std::milli>(now - sent).count());
      if (now < began + time) return next(lane);
      --running;
    });
  };
  for (std::size_t lane = 0; lane < lanes; ++lane) next(lane);
  pump.run_until([&] { return running == 0; });
  result.wall = boot_now() - began;
  return result;
}

}  // namespace muster::bench
