#include "cli/run_writer.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <utility>

namespace muster::cli {
namespace {

constexpr Duration kRetryInterval = 50ms;

bool has_room(int fd, Duration wait) {
  pollfd each{fd, POLLOUT, 0};
  return ::poll(&each, 1, static_cast<int>(to_ms(wait))) == 1;
}

}  // namespace

RunWriter::RunWriter(EventLoop& loop, std::ostream& err,
                     std::function<std::string(std::size_t)> told)
    : loop_(loop), err_(err), told_(std::move(told)), fd_(STDERR_FILENO), timer_(loop) {
  struct stat about {};
  if (&err_ != &std::cerr || ::fstat(STDERR_FILENO, &about) != 0) return;
  way_ = S_ISSOCK(about.st_mode) ? Way::kSocket : Way::kDescriptor;
  // O_NONBLOCK belongs to what was opened, which the command shares: so it is opened once more.
  if (!S_ISFIFO(about.st_mode) && !S_ISCHR(about.st_mode)) return;
  own_.reset(::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (own_.valid()) fd_ = own_.get();
}

RunWriter::~RunWriter() {
  const MonoTime limit = loop_.now() + kPatience;
  MutexLock lock(mutex_);
  while (!drain()) {
    const Duration left = limit - loop_.now();
    if (left <= Duration(0) || !has_room(fd_, std::min(left, kRetryInterval))) {
      if (loop_.now() >= limit) return;
    }
  }
}

void RunWriter::write(std::string line) {
  MutexLock lock(mutex_);
  if (lines_.size() >= kLinesMax) {
    ++dropped_;
    return;
  }
  if (dropped_ > 0) lines_.push_back(told_(std::exchange(dropped_, 0)));
  lines_.push_back(std::move(line));
  if (drain() || std::exchange(waiting_, true)) return;
  loop_.post(lifetime_.wrap([this] { drain_later(); }));
}

void RunWriter::drain_later() {
  timer_.arm(kRetryInterval, [this] {
    MutexLock lock(mutex_);
    waiting_ = !drain();
    if (waiting_) drain_later();
  });
}

bool RunWriter::drain() {
  while (!lines_.empty()) {
    const std::string& line = lines_.front();
    const char* const rest = line.data() + written_;
    // No more than a pipe with room is sure to take.
    const std::size_t size = std::min<std::size_t>(line.size() - written_, PIPE_BUF);
    ssize_t done = static_cast<ssize_t>(line.size());
    if (way_ == Way::kStream) {
      err_ << line << std::flush;
    } else if (way_ == Way::kSocket) {
      done = ::send(fd_, rest, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
      if (!own_.valid() && !has_room(fd_, Duration(0))) return false;
      done = ::write(fd_, rest, size);
    }
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    // Nobody is there to read any more, or the disk is full: as with any line to standard error.
    if (done < 0) done = static_cast<ssize_t>(line.size() - written_);
    written_ += static_cast<std::size_t>(done);
    if (written_ < line.size()) continue;
    written_ = 0;
    lines_.pop_front();
  }
  return true;
}

}  // namespace muster::cli
