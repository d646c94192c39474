// What the guardian is told, as words and as a file.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "base/text.h"
#include "candidate/guardian.h"

namespace muster::guardian {
namespace {

std::string nanoseconds(Duration d) {
  return std::to_string(std::max<Duration::rep>(0, d.count()));
}

}  // namespace

std::vector<std::string> to_arguments(const Charge& charge) {
  std::vector<std::string> result{std::to_string(charge.epoch.value()),
                                  nanoseconds(charge.deadline.time_since_epoch()),
                                  nanoseconds(charge.kill_margin),
                                  nanoseconds(charge.warning),
                                  nanoseconds(charge.grace),
                                  std::to_string(charge.parent),
                                  charge.directory,
                                  charge.control_group};
  result.insert(result.end(), charge.argv.begin(), charge.argv.end());
  return result;
}

Result<Charge> from_arguments(const std::vector<std::string>& arguments) {
  constexpr std::size_t kNumbers = 6;
  std::array<std::uint64_t, kNumbers> numbers{};
  bool good = arguments.size() > kNumbers + 2;
  for (std::size_t i = 0; good && i < kNumbers; ++i) {
    const auto number = parse_unsigned(arguments[i]);
    good = number && *number <= static_cast<std::uint64_t>(Duration::max().count());
    if (good) numbers[i] = *number;
  }
  if (!good) return {Errc::kInvalid, "this program is started by muster, not by hand"};
  const auto duration = [&](std::size_t i) { return Duration(numbers[i]); };
  return Charge{.epoch = Epoch(numbers[0]),
                .deadline = MonoTime(duration(1)),
                .kill_margin = duration(2),
                .warning = duration(3),
                .grace = duration(4),
                .parent = static_cast<pid_t>(numbers[5]),
                .directory = arguments[kNumbers],
                .control_group = arguments[kNumbers + 1],
                .argv = {arguments.begin() + kNumbers + 2, arguments.end()},
                .environment = {}};
}

Result<UniqueFd> to_file(const std::vector<std::string>& environment) {
  UniqueFd file(::memfd_create("muster-environment", MFD_CLOEXEC));
  std::string all;
  for (const std::string& each : environment) all.append(each).push_back('\0');
  std::size_t done = 0;
  while (file.valid() && done < all.size()) {
    const ssize_t written = ::write(file.get(), all.data() + done, all.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    done += static_cast<std::size_t>(written);
  }
  if (!file.valid() || done < all.size()) {
    return {Errc::kUnavailable, "cannot pass the environment on to the guardian"};
  }
  return file;
}

Result<std::vector<std::string>> from_file(int fd) {
  std::string all;
  std::array<char, 4096> block;
  // From its beginning, wherever the writer has stopped.
  for (;;) {
    const ssize_t got = ::pread(fd, block.data(), block.size(), static_cast<off_t>(all.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {Errc::kInvalid, "the command's environment cannot be read"};
    if (got == 0) break;
    all.append(block.data(), static_cast<std::size_t>(got));
  }
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = all.find('\0', begin);
    result.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

}  // namespace muster::guardian
