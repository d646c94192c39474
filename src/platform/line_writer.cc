#include "platform/line_writer.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/log.h"
#include "platform/system_clock.h"

namespace muster {

LineWriter::~LineWriter() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool LineWriter::write(std::string lines) {
  {
    MutexLock lock(mutex_);
    if (error_ != 0) return false;
    if (!queue_.empty() && bytes_ + lines.size() > bytes_max_) {
      ++dropped_;
      return false;
    }
    start();
    bytes_ += lines.size();
    queue_.push_back(std::move(lines));
  }
  changed_.notify_all();
  return true;
}

bool LineWriter::drain(Duration limit) {
  const MonoTime end = boot_now() + limit;
  MutexLock lock(mutex_);
  while (!idle()) {
    const Duration left = end - boot_now();
    if (left <= Duration(0)) return false;
    lock.wait_for(changed_, left);
  }
  return true;
}

bool LineWriter::broken() {
  return error() != 0;
}

int LineWriter::error() {
  MutexLock lock(mutex_);
  return error_;
}

void LineWriter::when_broken(std::function<void()> told) {
  MutexLock lock(mutex_);
  told_ = std::move(told);
  if (error_ != 0) tell_broken();
}

// Under the mutex, so that nobody is told who has just taken the wish back.
void LineWriter::tell_broken() {
  if (const auto told = std::exchange(told_, {})) told();
}

// Signals are for the threads that wait for them. One of them, SIGTTOU, would stop the process when
// it writes to a terminal that it has lent to its command; blocked, it lets the line through.
void LineWriter::start() {
  if (thread_.joinable()) return;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void LineWriter::run() {
  for (;;) {
    std::string lines;
    std::size_t dropped = 0;
    {
      MutexLock lock(mutex_);
      writing_ = false;
      if (idle()) changed_.notify_all();
      while (queue_.empty() && dropped_ == 0 && !ending_) lock.wait(changed_);
      if (queue_.empty() && dropped_ == 0) return;
      writing_ = true;
      if (queue_.empty()) {
        dropped = std::exchange(dropped_, 0);
      } else {
        lines = std::move(queue_.front());
        queue_.pop_front();
        bytes_ -= lines.size();
      }
    }
    // A warning comes back here as a line, through the sink that gives it its form.
    if (dropped > 0)
      log_warn("output was not read; lines were lost", {{"lines", std::to_string(dropped)}});
    const int error = put(lines);
    if (error == 0) continue;
    MutexLock lock(mutex_);
    error_ = error;
    queue_.clear();
    bytes_ = dropped_ = 0;
    tell_broken();
  }
}

int LineWriter::put(const std::string& lines) const {
  for (std::size_t done = 0; done < lines.size();) {
    const ssize_t count = ::write(fd_, lines.data() + done, lines.size() - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      // Another process that shares the descriptor has made it so.
      pollfd room{fd_, POLLOUT, 0};
      (void)::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace muster
