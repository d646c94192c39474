// A task that runs in one process of many: start it several times and stop the one that prints.
//   singleton file:///tmp/muster-example
// The task asks its guard before each effect, and a lease that ends takes the task with it.
#include <csignal>
#include <cstdio>

#include "candidate/candidate.h"
#include "candidate/supervised_work.h"
#include "platform/host.h"
#include "platform/signal_watch.h"
#include "platform/system_clock.h"
#include "store/open/open.h"
#include "store/probe.h"

using namespace std::chrono_literals;

muster::Status count(const muster::TaskContext& context) {
  for (int i = 1; !context.stop.stop_requested() && context.guard.valid(); ++i) {
    std::printf("epoch %d: %d\n", static_cast<int>(context.guard.epoch().value()), i);
    std::fflush(stdout);
    muster::sleep_for(100ms);
  }
  return muster::Done{};
}

int main(int argc, char** argv) {
  muster::EventLoop loop;
  std::function<void()> leave;
  const muster::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&](int) { leave(); });
  auto store = muster::open_store(argc == 2 ? argv[1] : "", loop, {});
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().message.c_str());
    return 64;
  }
  muster::CandidateOptions options;
  options.node = muster::WorkerId(muster::default_worker_id());
  options = options.filled();
  muster::SupervisorOptions tree;
  tree.name = "singleton";
  tree.node = options.node.value();
  tree.supervision.stop_budget = *options.stop_grace;
  tree.supervision.kill_margin = options.kill_margin;
  muster::SupervisedWork work(loop, tree, {{"count", muster::SupervisedTask(count)}});
  muster::Random random = muster::system_random();
  const auto probe = [&](muster::Callback<muster::Done> done) {
    muster::probe_store(**store, loop, random, options.request_timeout, std::move(done));
  };
  muster::Candidate candidate("singleton", options,
                              {loop, **store, work, muster::system_random(), {}, probe});
  leave = [&] { candidate.stop([&] { loop.stop(); }); };
  candidate.start();
  loop.run();
  return 0;
}
