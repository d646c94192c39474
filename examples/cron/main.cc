// A job that runs every minute on exactly one of the machines that run this:
//   cron s3://bucket/jobs?endpoint=http://127.0.0.1:7480
#include <csignal>
#include <cstdio>

#include "coordinator/hub.h"
#include "plugins/scheduler.h"

int main(int argc, char** argv) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  auto hub = muster::Hub::open(argc == 2 ? argv[1] : "");
  if (!hub) {
    std::fprintf(stderr, "%s\n", hub.error().message.c_str());
    return 64;
  }
  auto scheduler = std::make_shared<muster::Scheduler>((*hub)->store(), "cron");
  muster::ScheduledJob job;
  job.name = "report";
  job.cron = "* * * * *";
  job.run = [](const muster::ScheduledRun& run) {
    std::printf("%s is due at %lld, epoch %llu\n", run.job.c_str(),
                static_cast<long long>(muster::to_ms(run.due)),
                static_cast<unsigned long long>(run.epoch.value()));
    std::fflush(stdout);
  };
  if (const auto added = scheduler->add(job); !added) {
    std::fprintf(stderr, "%s\n", added.error().message.c_str());
    return 64;
  }
  muster::CoordinatorOptions options;
  options.startup_jitter_max = {};
  const auto coordinator = (*hub)->coordinator("cron", options).value();
  coordinator->subscribe(scheduler);
  coordinator->start();

  int signal = 0;
  sigwait(&signals, &signal);
  coordinator->stop();
  return 0;
}
