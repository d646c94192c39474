// guard_subject WORK PLACE FILE: a command that is hard to end, for the tests of what ends it.
//
// WORK "threads": its main thread ends and another one goes on. "chain": a process that starts
// another and ends, which does the same, and so on. "sessions": the same, and each makes a session
// of its own. PLACE "here": the command itself does that, and
// of "threads" ends with 7 when asked to. Elsewhere a child does it and ignores being asked:
// "group" in the command's process group, "own-group" in one of its own, after which the command
// ends with 3; "beside" in a group of its own while the command stays.
//
// FILE grows as long as the work goes on. If nobody ends it within 20 s it ends by itself and
// writes an E there, so that nothing runs on where a test fails.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace {

constexpr time_t kSecondsMax = 20;

volatile sig_atomic_t asked_to_end = 0;
int evidence = -1;

time_t seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec;
}

void wait_a_moment() {
  const timespec moment{0, 500'000};
  ::nanosleep(&moment, nullptr);
}

void leave(char evidence_of_life) {
  if (::write(evidence, &evidence_of_life, 1) != 1) std::_Exit(99);
}

[[noreturn]] void work_in_a_thread() {
  // Never destroyed: it ends the process itself.
  static const std::thread worker([] {
    const time_t end = seconds() + kSecondsMax;
    while (seconds() < end) {
      leave('.');
      wait_a_moment();
      if (asked_to_end != 0) std::_Exit(7);
    }
    leave('E');
    std::_Exit(0);
  });
  ::pthread_exit(nullptr);
}

[[noreturn]] void work_in_a_chain(bool in_sessions) {
  const time_t end = seconds() + kSecondsMax;
  while (seconds() < end) {
    const pid_t next = ::fork();
    if (next > 0) std::_Exit(0);
    if (next < 0) wait_a_moment();
    if (next == 0 && in_sessions) ::setsid();
    leave('.');
  }
  leave('E');
  std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  const std::string work = argv[1];
  const std::string place = argv[2];
  evidence = ::open(argv[3], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (evidence < 0) return 99;
  ::signal(SIGTERM, [](int) { asked_to_end = 1; });
  if (place != "here") {
    const pid_t child = ::fork();
    if (child < 0) return 99;
    if (child > 0) {
      if (place != "beside") {
        // Until the child is where it is to be, and at work.
        while (::lseek(evidence, 0, SEEK_END) < 3) wait_a_moment();
        return 3;
      }
      ::alarm(kSecondsMax);
      for (;;) ::pause();
    }
    ::signal(SIGTERM, SIG_IGN);
    if (place != "group" && ::setpgid(0, 0) != 0) return 99;
  }
  if (work == "threads") work_in_a_thread();
  work_in_a_chain(work == "sessions");
}
