// guard_subject WORK PLACE FILE: a command that is hard to end, for the tests of what ends it.
//
// WORK "threads": its main thread ends and another one goes on. "chains": a process that starts
// another and ends, which does the same, and so on, eight times over, and anyone who finds another
// chain broken begins it anew. "sessions": one such chain, each link in a session of its own. PLACE
// "here": the command itself does that, and of "threads" ends with 7 when asked to. Elsewhere a
// child does it and ignores being asked: "group" in the command's process group, "own-group" in one
// of its own, after which the command ends with 3; "beside" in a group of its own while the command
// stays.
//
// FILE grows as long as the work goes on. If nobody ends it within 20 s it ends by itself and
// writes an E there, so that nothing runs on where a test fails.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

namespace {

constexpr std::int64_t kLongestNs = 20'000'000'000;
constexpr std::int64_t kSilenceNs = 5'000'000;
constexpr std::size_t kChains = 8;

volatile sig_atomic_t asked_to_end = 0;
int evidence = -1;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
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
    const std::int64_t end = now_ns() + kLongestNs;
    while (now_ns() < end) {
      leave('.');
      wait_a_moment();
      if (asked_to_end != 0) std::_Exit(7);
    }
    leave('E');
    std::_Exit(0);
  });
  ::pthread_exit(nullptr);
}

/// One of several chains. Each sees to it that the next one goes on.
struct Chain {
  std::atomic<pid_t> link;         ///< Anyone who finds that another is the link is superfluous.
  std::atomic<std::int64_t> seen;  ///< When it last started another.
};

[[noreturn]] void work_in_chains(std::size_t count, bool in_sessions) {
  void* const shared = ::mmap(nullptr, count * sizeof(Chain), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::_Exit(99);
  auto* const chains = new (shared) Chain[count]{};
  std::size_t own = 0;
  chains[own].link = ::getpid();
  const std::int64_t end = now_ns() + kLongestNs;
  for (unsigned links = 0; now_ns() < end; ++links) {
    const pid_t self = ::getpid();
    chains[own].seen = now_ns();
    const std::size_t next = (own + 1) % count;
    if (now_ns() - chains[next].seen > kSilenceNs) {
      chains[next].seen = now_ns();
      if (::fork() == 0) {
        own = next;
        chains[own].link = ::getpid();
        continue;
      }
    }
    const pid_t child = ::fork();
    if (child > 0) std::_Exit(0);
    if (child < 0) wait_a_moment();
    if (child < 0) continue;
    pid_t before = self;
    if (!chains[own].link.compare_exchange_strong(before, ::getpid())) std::_Exit(0);
    if (in_sessions) ::setsid();
    if (links % 16 == 0) leave('.');  // Few are there for longer than it takes to start another.
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
      ::alarm(20);
      for (;;) ::pause();
    }
    ::signal(SIGTERM, SIG_IGN);
    if (place != "group" && ::setpgid(0, 0) != 0) return 99;
  }
  if (work == "threads") work_in_a_thread();
  const bool in_sessions = work == "sessions";
  work_in_chains(in_sessions ? 1 : kChains, in_sessions);
}
