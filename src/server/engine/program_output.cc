#include "server/engine/program_output.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <utility>

namespace muster::engine {
namespace {

constexpr std::size_t kOutputBytesMax = 64 * 1024;

}  // namespace

void ProgramOutput::run(std::vector<std::string> argv, Finished done) {
  program_ = argv.front();
  done_ = std::move(done);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return finish({Errc::kUnavailable, "cannot make a pipe to " + program_});
  }
  output_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  Command command{.argv = std::move(argv)};
  command.null_stdin = true;
  command.descriptors = {{theirs.get(), 1}};
  command.death_signal = SIGKILL;
  auto process = spawn(command);
  if (!process) return finish(process.error());
  process_.emplace(std::move(*process));
  loop_.watch_fd(output_.get(), EPOLLIN, [this](std::uint32_t) { read(); });
  timer_.arm(limit_, [this] {
    finish({Errc::kUnavailable,
            program_ + " did not end within " + std::to_string(to_ms(limit_)) + " ms"});
  });
}

void ProgramOutput::read() {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = ::read(output_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0 || text_.size() > kOutputBytesMax) return finish(std::move(text_));
    text_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void ProgramOutput::finish(Result<std::string> result) {
  end();
  loop_.post(lifetime_.wrap([done = std::move(done_), result = std::move(result)]() mutable {
    done(std::move(result));
  }));
}

void ProgramOutput::end() {
  timer_.cancel();
  if (output_.valid() && process_) loop_.unwatch_fd(output_.get());
  output_.reset();
  if (!process_) return;
  process_->signal(SIGKILL);
  (void)process_->wait();
  process_.reset();
}

}  // namespace muster::engine
