// A queue on a directory, with workers and leaders that are killed while they work: nothing is
// lost, nothing runs after it was acknowledged, and no two live claimants run one message.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "platform/event_loop.h"
#include "platform/system_clock.h"
#include "platform/unique_fd.h"
#include "plugins/queue.h"
#include "store/open/open.h"

namespace muster {
namespace queue_process_test {

namespace fs = std::filesystem;

constexpr int kMessages = 80;
constexpr int kWorkers = 4;
constexpr int kKills = 24;

/// Lets other processes go on; nothing depends on how long.
void pause_ms(int ms) {
  ::poll(nullptr, 0, ms);
}

/// A process of the test's own; whatever the test does, it does not outlive it. The parent has no
/// threads, so that each child starts clean.
class Child {
 public:
  explicit Child(const std::function<void()>& main) : pid_(::fork()) {
    MUSTER_CHECK(pid_ >= 0);
    if (pid_ != 0) return;
    main();
    ::_exit(0);
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&& other) noexcept {
    kill();
    pid_ = std::exchange(other.pid_, -1);
    return *this;
  }
  ~Child() { kill(); }

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  [[nodiscard]] int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
};

struct QueueProcessTest : ::testing::Test {
  QueueProcessTest() {
    std::string name = (fs::temp_directory_path() / "muster-queue-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary directory";
    directory = name;
    fs::create_directory(directory / "running");
    options.visibility_timeout = 2s;
    options.attempts_max = 1000;
    options.tombstone_retention = 1h;
  }
  ~QueueProcessTest() override { fs::remove_all(directory); }

  /// What one process needs for the queue; lives and dies with it.
  void with_queue(const std::string& worker, const std::function<void(Queue&, Clock&)>& use) {
    set_log_sink({});
    LoopThread thread;
    SystemClock clock;
    std::unique_ptr<ObjectStore> store;
    thread.run([&] {
      const std::string url = "file://" + (directory / "store").string() + "?sync=off";
      auto opened = open_store(url, thread.loop(), {});
      MUSTER_CHECK(opened.ok());
      store = *std::move(opened);
    });
    SyncStore sync(thread.loop(), *store, 10s);
    {
      Queue plugin(sync, clock, system_random(), WorkerId(worker), options);
      plugin.attach(clock, {});
      use(plugin, clock);
    }
    thread.run([&] { store.reset(); });
  }

  void append(const char* file, const std::string& line) const {
    const UniqueFd fd(::open((directory / file).c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600));
    const std::string text = line + "\n";
    MUSTER_CHECK(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  [[nodiscard]] std::multiset<std::string> lines(const char* file) const {
    std::multiset<std::string> found;
    std::ifstream in(directory / file);
    for (std::string line; std::getline(in, line);) found.insert(line);
    return found;
  }

  /// The kernel tells whether another live process is at work on the same message.
  Status run(QueueClaim& claim, Random& random) const {
    const std::string path = (directory / "running" / claim.id()).string();
    const UniqueFd mark(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (::flock(mark.get(), LOCK_EX | LOCK_NB) != 0) append("violations", "two run " + claim.id());
    if (lines("acknowledged").contains(claim.id())) append("violations", "again " + claim.id());
    const auto steps = random.below(12);
    for (std::uint64_t i = 0; i < steps && claim.guard().valid(); ++i) pause_ms(3);
    if (!claim.guard().valid()) return {Errc::kCancelled, "too slow"};
    append("ran", claim.id());
    return Done{};
  }

  Child worker(int number) {
    return Child([this, number] {
      with_queue("w" + std::to_string(number), [&](Queue& plugin, Clock&) {
        Random random = system_random();
        for (;;) {
          std::string id;
          const auto ran = plugin.run_one([&](QueueClaim& claim) {
            id = claim.id();
            return run(claim, random);
          });
          if (ran && *ran) {
            append("acknowledged", id);
          } else {
            pause_ms(5);
          }
        }
      });
    });
  }

  Child leader(std::uint64_t epoch) {
    return Child([this, epoch] {
      with_queue("leader", [&](Queue& plugin, Clock& clock) {
        const LeaseGuard guard(clock, Epoch(epoch), clock.now() + 1h);
        plugin.learn_epoch(Epoch(epoch));
        plugin.on_become_coordinator(guard);
        for (;;) {
          plugin.coordinator_work(guard);
          pause_ms(5);
        }
      });
    });
  }

  [[nodiscard]] bool is_empty() const {
    // By the layout of the queue, through a store of its own.
    LoopThread thread;
    std::unique_ptr<ObjectStore> store;
    thread.run([&] {
      store = *open_store("file://" + (directory / "store").string(), thread.loop(), {});
    });
    SyncStore sync(thread.loop(), *store, 10s);
    const queue::Keys keys(options.name_space, options.queue);
    const auto left = sync.list_all(keys.messages);
    thread.run([&] { store.reset(); });
    return left && left->objects.empty();
  }

  fs::path directory;
  QueueOptions options;
};

TEST_F(QueueProcessTest, NothingIsLostAndNoTwoLiveClaimantsUnderKill9) {
  Child producer([this] {
    with_queue("producer", [&](Queue& plugin, Clock&) {
      for (int i = 0; i < kMessages; ++i) {
        MUSTER_CHECK(plugin.enqueue("work", "message-" + std::to_string(i)).ok());
      }
    });
  });
  ASSERT_EQ(producer.wait(), 0);

  std::uint64_t epoch = 1;
  Child leading = leader(epoch);
  std::vector<Child> workers;
  for (int i = 0; i < kWorkers; ++i) workers.push_back(worker(i));
  Random random(7);
  for (int kills = 0; kills < kKills; ++kills) {
    pause_ms(static_cast<int>(20 + random.below(80)));
    const auto victim = random.below(kWorkers);
    workers[victim] = worker(100 + kills);
    if (kills % 4 == 3) {
      leading.kill();  // The one before must be gone: its lease is not part of this test.
      leading = leader(++epoch);
    }
  }
  Child checker([this] {
    for (int i = 0; i < 2000; ++i) {
      if (is_empty()) return;
      pause_ms(20);
    }
    ::_exit(1);
  });
  EXPECT_EQ(checker.wait(), 0) << "messages are left";
  workers.clear();
  leading.kill();

  EXPECT_EQ(lines("violations"), std::multiset<std::string>{});
  const auto ran = lines("ran");
  for (int i = 0; i < kMessages; ++i) {
    EXPECT_GE(ran.count("message-" + std::to_string(i)), 1u) << "message " << i << " was lost";
  }
}

}  // namespace queue_process_test
}  // namespace muster
