#include "server/engine/etcd_child.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"

namespace muster::engine {
namespace {

/// Raft needs no deadline from us: a member that lost touch does no harm.
constexpr Duration kForEver = std::chrono::hours(24 * 365 * 10);
/// While this process is stopped, etcd may log this much before it waits.
constexpr int kPipeBytes = 1 << 20;
constexpr std::size_t kLineMax = 64 * 1024;

GuardianOptions guardian_options(const EngineOptions& options) {
  // No grace when this process is dead: etcd is made to be killed, and its successor waits.
  // It starts no others, so a cgroup would add nothing.
  return {.program = options.guardian,
          .kill_margin = 1s,
          .warning = 0s,
          .grace = 0s,
          .control_group = false};
}

/// Nothing of ours: etcd takes options from ETCD_… variables and would send Raft through a proxy.
std::vector<std::string> clean_environment() {
  std::vector<std::string> result;
  for (const std::string& each : environment()) {
    if (each.starts_with("PATH=")) result.push_back(each);
  }
  return result;
}

}  // namespace

EtcdChild::EtcdChild(EventLoop& loop, const EngineOptions& options, Ended ended)
    : loop_(loop),
      options_(options),
      ended_(std::move(ended)),
      kill_timer_(loop),
      command_(
          loop, guardian_options(options),
          {.started =
               [this](pid_t pid) {
                 log_info("etcd started",
                          {{"member", options_.name}, {"pid", std::to_string(pid)}});
               },
           .unkillable =
               [this](pid_t pid) {
                 log_error("etcd cannot be ended",
                           {{"member", options_.name}, {"pid", std::to_string(pid)}});
               },
           .failed =
               [this](Error error) {
                 finish({error.message, true});
               },
           .gone =
               [this](ExitStatus status) {
                 read_log();
                 if (status.signal != 0 && !fatal_) {
                   return finish({"etcd was ended by signal " + std::to_string(status.signal)});
                 }
                 finish(diagnose(last_error_, options_.etcd_directory(),
                                 options_.peer_listen.to_string()));
               },
           .lost =
               [this](GuardedCommand::Lost) {
                 finish({"etcd's guardian died, and etcd was ended with it"});
               }}) {}

EtcdChild::~EtcdChild() {
  if (log_.valid()) loop_.unwatch_fd(log_.get());
}

Status EtcdChild::start(const std::vector<std::string>& argv) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {Errc::kUnavailable, "cannot make a pipe"};
  log_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  ::fcntl(log_.get(), F_SETFL, O_NONBLOCK);
  // A smaller pipe than asked for only makes etcd wait sooner.
  ::fcntl(log_.get(), F_SETPIPE_SZ, kPipeBytes);
  loop_.watch_fd(log_.get(), EPOLLIN, [this](std::uint32_t) { read_log(); });

  Command command{.argv = argv};
  command.environment = clean_environment();
  command.directory = options_.directory();
  command.null_stdin = true;
  command.descriptors = {{theirs.get(), 1}, {theirs.get(), 2}};
  return command_.start(command, Epoch(1), loop_.now() + kForEver);
}

void EtcdChild::terminate() {
  command_.terminate();
  kill_timer_.arm(options_.stop_grace, [this] {
    log_warn("etcd did not end in time; killed", {{"member", options_.name}});
    command_.kill();
  });
}

void EtcdChild::read_log() {
  std::array<char, 4096> buffer;
  while (log_.valid()) {
    const ssize_t got = ::read(log_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      loop_.unwatch_fd(log_.get());
      log_.reset();
      break;
    }
    unread_.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (auto end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n', begin)) {
      take_line(std::string_view(unread_).substr(begin, end - begin));
      begin = end + 1;
    }
    unread_.erase(0, begin);
    if (unread_.size() > kLineMax) unread_.clear();
  }
}

void EtcdChild::take_line(std::string_view text) {
  EtcdLogLine line = parse_etcd_log(text);
  if (line.text.empty()) return;
  const auto level = line.level == EtcdLogLine::Level::kInfo   ? LogLevel::kDebug
                     : line.level == EtcdLogLine::Level::kWarn ? LogLevel::kInfo
                                                               : LogLevel::kWarn;
  log({level, "etcd says", {{"member", options_.name}, {"text", line.text}}});
  if (fatal_) return;
  fatal_ = line.level == EtcdLogLine::Level::kFatal;
  last_error_ = std::move(line.text);
}

void EtcdChild::finish(Diagnosis diagnosis) {
  kill_timer_.cancel();
  std::exchange(ended_, {})(std::move(diagnosis));
}

}  // namespace muster::engine
