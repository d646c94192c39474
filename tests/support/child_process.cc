#include "tests/support/child_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"

namespace muster {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words,
                           const std::vector<std::string>& environment) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  MUSTER_CHECK(::pipe2(in.data(), O_CLOEXEC) == 0 && ::pipe2(out.data(), O_CLOEXEC) == 0);
  UniqueFd child_in(in[0]);
  UniqueFd child_out(out[1]);
  input_.reset(in[1]);
  output_.reset(out[0]);
  // Everything is laid out before fork(): the child of a threaded process may not allocate.
  std::vector<std::string> all;
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    const std::string inherited = *variable;
    const std::string name = inherited.substr(0, inherited.find('=') + 1);
    bool replaced = false;
    for (const std::string& own : environment) replaced |= own.starts_with(name);
    if (!replaced) all.push_back(inherited);
  }
  all.insert(all.end(), environment.begin(), environment.end());
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(all);
  pid_ = ::fork();
  MUSTER_CHECK(pid_ >= 0);
  if (pid_ > 0) return;
  ::setsid();
  ::dup2(child_in.get(), STDIN_FILENO);
  ::dup2(child_out.get(), STDOUT_FILENO);
  ::execvpe(argv[0], argv.data(), envp.data());
  ::_exit(127);
}

std::string ChildProcess::read_line() {
  std::vector<char> block(1 << 16);
  std::size_t looked_at = 0;  // A line may be of megabytes: no byte of it is looked at twice.
  while (true) {
    const auto end = unread_.find('\n', looked_at);
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    const ssize_t count = ::read(output_.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::exchange(unread_, {});
    looked_at = unread_.size();
    unread_.append(block.data(), static_cast<std::size_t>(count));
  }
}

void ChildProcess::write_line(const std::string& line) {
  const std::string bytes = line + "\n";
  MUSTER_CHECK(::write(input_.get(), bytes.data(), bytes.size()) ==
               static_cast<ssize_t>(bytes.size()));
}

int ChildProcess::finish() {
  if (pid_ < 0) return exit_code_;
  input_.reset();
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0) MUSTER_CHECK(errno == EINTR);
  pid_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

void ChildProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  finish();
}

int run_program(const std::vector<std::string>& words,
                const std::vector<std::string>& environment) {
  return ChildProcess(words, environment).finish();
}

TempDir::TempDir(const std::filesystem::path& parent) {
  std::string name = parent / "muster-test-XXXXXX";
  MUSTER_CHECK(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;  // A directory that stays behind is no reason to end the test process.
  std::filesystem::remove_all(path_, ignored);
}

int free_port() {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  MUSTER_CHECK(::bind(fd.get(), generic, length) == 0);
  MUSTER_CHECK(::getsockname(fd.get(), generic, &length) == 0);
  return ntohs(address.sin_port);
}

}  // namespace muster
