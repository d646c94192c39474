// A job that runs every minute on exactly one of the machines that run this:
//   cron s3://bucket/jobs?endpoint=http://127.0.0.1:7480
#include <muster/plugins.h>

#include <csignal>
#include <cstdio>

int main(int argc, char** argv) try {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  auto arbiter = muster::Arbiter::open(argc == 2 ? argv[1] : "").value();
  muster::CoordinatorOptions options;
  options.startup_jitter_max = muster::Duration(0);
  auto coordinator = muster::GlobalCoordinator::start(arbiter, "cron", options).value();
  muster::ScheduledJob job;
  job.name = "report";
  job.cron = "* * * * *";
  job.run = [](const muster::ScheduledRun& run) {
    std::printf("%s is due at %lld, epoch %llu\n", run.job.c_str(), static_cast<long long>(run.due),
                static_cast<unsigned long long>(run.lease.token()));
    std::fflush(stdout);
  };
  auto scheduler = muster::Scheduler::start(coordinator, {job}).value();

  int signal = 0;
  sigwait(&signals, &signal);
  return 0;
} catch (const muster::BadResult& bad) {
  std::fprintf(stderr, "%s\n", bad.what());
  return 64;
}
