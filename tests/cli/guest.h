#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "platform/process.h"

namespace muster {

/// A program that does not outlive this.
class Guest {
 public:
  explicit Guest(const muster::Command& command) : process_(*spawn(command)) {}
  ~Guest() {
    if (status_) return;
    process_.signal(SIGKILL);
    (void)process_.wait();
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  [[nodiscard]] bool ends_within(Duration limit) {
    pollfd ended{process_.pidfd(), POLLIN, 0};
    if (::poll(&ended, 1, static_cast<int>(to_ms(limit))) != 1) return false;
    status_ = process_.try_wait();
    return true;
  }
  [[nodiscard]] ExitStatus status() const { return status_.value(); }
  void signal(int number) const { process_.signal(number); }
  /// Whether the program holds this signal back, in order to wait for it.
  [[nodiscard]] bool waits_for(int number) const {
    std::ifstream status("/proc/" + std::to_string(process_.pid()) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("SigBlk:")) continue;
      return (std::stoull(line.substr(7), nullptr, 16) >> (number - 1) & 1) != 0;
    }
    return false;
  }
  /// Whether a thread of the program is in a write to this descriptor.
  [[nodiscard]] bool writes_to(int fd) const {
    const std::string tasks = "/proc/" + std::to_string(process_.pid()) + "/task";
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
      long call = -1;
      int first = -1;
      std::ifstream status(task.path() / "syscall");
      if (status >> call >> std::hex >> first && call == SYS_write && first == fd) return true;
    }
    return false;
  }

 private:
  Process process_;
  std::optional<ExitStatus> status_;
};

}  // namespace muster
