#include "bench/rpc_load.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <chrono>

#include "platform/system_clock.h"

namespace muster::bench {

RpcPump::~RpcPump() {
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) delete static_cast<Ended*>(tag);
}

bool RpcPump::step(MonoTime until) {
  const Duration left = std::max<Duration>(until - boot_now(), Duration::zero());
  void* tag = nullptr;
  bool ok = false;
  const auto next = queue_.AsyncNext(&tag, &ok, gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
  if (next != grpc::CompletionQueue::GOT_EVENT) return false;
  const std::unique_ptr<Ended> ended(static_cast<Ended*>(tag));
  (*ended)(ok);
  return true;
}

void RpcPump::run_until(const std::function<bool()>& done, Duration limit) {
  const MonoTime end = boot_now() + limit;
  while (!done()) {
    if (step(end)) continue;
    std::fprintf(stderr, "the servers did not answer in time\n");
    std::exit(1);
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

std::shared_ptr<grpc::Channel> connect(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel("ipv4:" + endpoint, grpc::InsecureChannelCredentials(),
                                   arguments);
}

std::vector<std::shared_ptr<grpc::Channel>> connect_all(const std::string& endpoint,
                                                        std::size_t count) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (std::size_t i = 0; i < count; ++i) {
    channels.push_back(connect(endpoint));
    // One after another: a burst would overflow the server's backlog and measure retries.
    if (!channels.back()->WaitForConnected(gpr_time_from_seconds(30, GPR_TIMESPAN))) {
      std::fprintf(stderr, "no connection to %s\n", endpoint.c_str());
      std::exit(1);
    }
  }
  return channels;
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
