// run_witness DIRECTORY MODE: leader-only work that leaves evidence of when it ran.
//
// It appends one line to DIRECTORY/log when it starts, and then writes the boot clock into a file
// of its own every millisecond, through a mapping, so that kill -9 at any instant leaves its last
// moment there. Modes: "calm" ends when asked, after a while; "threads" does, too, but its main
// thread has ended long before; "stubborn" ignores that; "daemon" leaves a grandchild in a session
// of its own that does the same and ignores everything.
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

volatile sig_atomic_t asked_to_end = 0;

std::int64_t boot_time_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "?" : value;
}

// The evidence of one process: "EPOCH NODE NAME START FILE" in the log, and FILE.
class Evidence {
 public:
  Evidence(const std::string& directory, const std::string& what) {
    const std::string file = directory + "/alive-" + what + "-" + std::to_string(::getpid());
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, sizeof(std::int64_t)) != 0) std::_Exit(99);
    void* page = ::mmap(nullptr, sizeof(std::int64_t), PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) std::_Exit(99);
    last_ = new (page) std::atomic<std::int64_t>(boot_time_ns());

    const std::string line = variable("MUSTER_EPOCH") + " " + variable("MUSTER_NODE") + " " +
                             variable("MUSTER_NAME") + " " + std::to_string(last_->load()) + " " +
                             file + "\n";
    const int log =
        ::open((directory + "/log").c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log < 0 || ::write(log, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      std::_Exit(99);
    ::close(log);
  }

  void tick() { last_->store(boot_time_ns()); }

 private:
  std::atomic<std::int64_t>* last_ = nullptr;
};

void wait_a_millisecond() {
  const timespec wait{0, 1'000'000};
  ::nanosleep(&wait, nullptr);
}

void leave_grandchild(const std::string& directory) {
  if (::fork() != 0) return;
  ::setsid();
  if (::fork() != 0) std::_Exit(0);
  ::signal(SIGTERM, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  Evidence evidence(directory, "daemon");
  for (;;) {
    evidence.tick();
    wait_a_millisecond();
  }
}

[[noreturn]] void work(Evidence evidence) {
  int left = 30;  // Work that is under way when the request comes.
  while (left > 0) {
    evidence.tick();
    wait_a_millisecond();
    if (asked_to_end != 0) --left;
  }
  evidence.tick();
  std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const std::string directory = argv[1];
  const std::string mode = argv[2];
  ::signal(SIGTERM, [](int) { asked_to_end = 1; });
  if (mode == "stubborn") ::signal(SIGTERM, SIG_IGN);

  const Evidence evidence(directory, mode);
  if (mode == "daemon") leave_grandchild(directory);
  if (mode == "threads") {
    // Never destroyed: it ends the process itself.
    static const std::thread worker(work, evidence);
    ::pthread_exit(nullptr);
  }
  work(evidence);
}
