#include "platform/event_loop.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <future>

#include "base/check.h"
#include "platform/system_clock.h"

namespace muster {

namespace {

/// Tasks that post tasks go on for so long before descriptors and timers have their turn.
constexpr int kTaskRounds = 16;
/// How long patient descriptors wait.
constexpr Duration kPatience = 100us;

void signal(const UniqueFd& eventfd) {
  const std::uint64_t one = 1;
  // The counter cannot overflow: it is drained whenever it is not zero.
  MUSTER_CHECK(::write(eventfd.get(), &one, sizeof one) == sizeof one);
}

}  // namespace

EventLoop::EventLoop()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      patient_epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      alarm_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  MUSTER_CHECK(epoll_.valid() && patient_epoll_.valid() && wake_.valid() && alarm_.valid());
  for (const int fd : {wake_.get(), alarm_.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    MUSTER_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
  }
}

EventLoop::~EventLoop() = default;

MonoTime EventLoop::now() const {
  return boot_now();
}
WallTime EventLoop::wall_now() const {
  return system_wall_now();
}

// A loop that is at work looks at its tasks before it falls asleep.
void EventLoop::post(Task task) {
  const MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  if (std::exchange(asleep_, false)) signal(wake_);
}

bool EventLoop::fall_asleep() {
  const MutexLock lock(mutex_);
  asleep_ = tasks_.empty();
  return asleep_;
}

void EventLoop::awake() {
  const MutexLock lock(mutex_);
  asleep_ = false;
}

Loop::TimerId EventLoop::at(MonoTime when, Task task) {
  const TimerId id = next_timer_++;
  timers_.emplace(std::pair(when, id), std::move(task));
  timer_times_.emplace(id, when);
  return id;
}

void EventLoop::cancel(TimerId id) {
  const auto it = timer_times_.find(id);
  if (it == timer_times_.end()) return;
  timers_.erase({it->second, id});
  timer_times_.erase(it);
}

void EventLoop::watch_fd(int fd, std::uint32_t events, std::function<void(std::uint32_t)> ready) {
  std::shared_ptr<Watched>& watched = watched_[fd];
  const bool known = watched != nullptr;
  // A new one each time: the former callback may be running.
  watched = std::make_shared<Watched>(Watched{std::move(ready), events, known && watched->patient});
  control(known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, events);
}

void EventLoop::unwatch_fd(int fd) {
  const auto found = watched_.find(fd);
  if (found == watched_.end()) return;
  ::epoll_ctl((found->second->patient ? patient_epoll_ : epoll_).get(), EPOLL_CTL_DEL, fd, nullptr);
  if (found->second->patient) --patient_count_;
  watched_.erase(found);
}

void EventLoop::set_patient(int fd, bool patient) {
  Watched& watched = *watched_.at(fd);
  if (watched.patient == patient) return;
  control(EPOLL_CTL_DEL, fd, 0);
  watched.patient = patient;
  control(EPOLL_CTL_ADD, fd, watched.events);
  if (!patient) {
    --patient_count_;
  } else if (patient_count_++ == 0) {
    patient_busy_ = true;
    patient_at_ = now() + kPatience;
  }
}

void EventLoop::control(int operation, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  const UniqueFd& epoll = watched_.at(fd)->patient ? patient_epoll_ : epoll_;
  MUSTER_CHECK(::epoll_ctl(epoll.get(), operation, fd, &event) == 0);
}

void EventLoop::run() {
  run_until(MonoTime::max());
}

bool EventLoop::run_until(MonoTime by) {
  while (!stopped_.load()) {
    for (int round = 0; round < kTaskRounds && run_tasks(); ++round) {
    }
    run_timers();
    if (stopped_.load() || now() >= by) break;
    wait(by);
  }
  return stopped_.load();
}

void EventLoop::run_once(MonoTime by) {
  for (int round = 0; round < kTaskRounds && run_tasks(); ++round) {
  }
  run_timers();
  if (!stopped_.load()) wait(by);
}

void EventLoop::stop() {
  stopped_.store(true);
  post([] {});
}

bool EventLoop::run_tasks() {
  std::vector<Task> batch;
  {
    const MutexLock lock(mutex_);
    batch.swap(tasks_);
  }
  for (Task& task : batch) {
    task();
    task = nullptr;
  }
  return !batch.empty();
}

void EventLoop::run_timers() {
  const MonoTime limit = now();
  while (!timers_.empty() && timers_.begin()->first.first <= limit) {
    auto node = timers_.extract(timers_.begin());
    timer_times_.erase(node.key().second);
    node.mapped()();
  }
}

MonoTime EventLoop::next_deadline(MonoTime limit) const {
  return timers_.empty() ? limit : std::min(limit, timers_.begin()->first.first);
}

void EventLoop::set_alarm(MonoTime when) {
  // One that rings too early is set again then, which costs less than to follow every timer.
  if (alarm_at_ && *alarm_at_ <= when) return;
  alarm_at_ = when;
  itimerspec spec{};
  if (when != MonoTime::max()) {
    // Zero would disarm the timer; an instant in the past fires at once.
    const auto ns = std::max<Duration::rep>(1, when.time_since_epoch().count());
    spec.it_value.tv_sec = ns / 1'000'000'000;
    spec.it_value.tv_nsec = ns % 1'000'000'000;
  }
  MUSTER_CHECK(::timerfd_settime(alarm_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0);
}

void EventLoop::wait(MonoTime limit) {
  set_alarm(next_deadline(limit));
  if (patient_count_ > 0) return wait_patiently();
  serve_descriptors(epoll_, fall_asleep() ? -1 : 0);
}

void EventLoop::wait_patiently() {
  if (fall_asleep()) {
    // Patient ones that were silent wake the loop; others are looked at when their time has come.
    std::array<pollfd, 2> sets = {{{epoll_.get(), POLLIN, 0}, {patient_epoll_.get(), POLLIN, 0}}};
    const Duration left = std::max<Duration>(patient_at_ - now(), Duration::zero());
    const timespec until = {0, static_cast<long>(left.count())};
    const int ready =
        ::ppoll(sets.data(), patient_busy_ ? 1 : 2, patient_busy_ ? &until : nullptr, nullptr);
    MUSTER_CHECK(ready >= 0 || errno == EINTR);
    awake();
  }
  serve_descriptors(epoll_, 0);
  if (patient_busy_ && now() < patient_at_) return;
  patient_busy_ = serve_descriptors(patient_epoll_, 0);
  patient_at_ = now() + kPatience;
}

bool EventLoop::serve_descriptors(const UniqueFd& epoll, int timeout_ms) {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll.get(), events.data(), events.size(), timeout_ms);
  MUSTER_CHECK(count >= 0 || errno == EINTR);
  if (timeout_ms != 0) awake();
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    if (fd == wake_.get() || fd == alarm_.get()) {
      std::uint64_t drained = 0;
      if (::read(fd, &drained, sizeof drained) < 0) MUSTER_CHECK(errno == EAGAIN);
      if (fd == alarm_.get()) alarm_at_.reset();
      continue;
    }
    // A callback may unwatch any descriptor, its own included, so it is held while it runs.
    const auto it = watched_.find(fd);
    if (it == watched_.end()) continue;
    const auto watched = it->second;
    watched->ready(events[static_cast<std::size_t>(i)].events);
  }
  return count > 0;
}

LoopThread::~LoopThread() {
  MUSTER_CHECK(!on_thread());
  loop_.stop();
  thread_.join();
}

void LoopThread::run(const std::function<void()>& task) {
  MUSTER_CHECK(!on_thread());
  std::promise<void> done;
  loop_.post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace muster
