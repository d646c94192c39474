#include "server/security/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/log.h"

namespace muster::server {
namespace {

/// Of a name or a sentence: as long as the longest key that can be written.
constexpr std::size_t kTextMax = 1024;

}  // namespace

Status AuditLog::open() {
  UniqueFd file(::open(options_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  struct stat facts {};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) {
    return {Errc::kUnavailable, "cannot open the audit log " + options_.path + ": " +
                                    std::generic_category().message(errno)};
  }
  // A file that was there keeps its mode otherwise; a pipe or a device belongs to others.
  if (S_ISREG(facts.st_mode) && (facts.st_mode & 0177U) != 0 && ::fchmod(file.get(), 0600) != 0) {
    return {Errc::kUnavailable,
            "cannot make the audit log " + options_.path +
                " private (mode 0600): " + std::generic_category().message(errno)};
  }
  file_ = std::move(file);
  bytes_ = static_cast<std::uint64_t>(facts.st_size);
  return Done{};
}

std::string AuditLog::numbered(std::uint32_t number) const {
  return number == 0 ? options_.path : options_.path + "." + std::to_string(number);
}

// The new file comes first: moving the others and finding no room for it, again and again, would
// push every one of them out. A process that has run out of descriptors is such a case.
void AuditLog::rotate() {
  const std::string fresh = options_.path + ".new";
  // An existing one may have any mode, or be a link.
  ::unlink(fresh.c_str());
  UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return log_error("the audit log could not be rotated",
                     {{"file", fresh}, {"reason", std::generic_category().message(errno)}});
  }
  for (std::uint32_t i = options_.files_max - 1; i >= 1; --i) {
    // The older ones may not be there yet.
    std::rename(numbered(i - 1).c_str(), numbered(i).c_str());
  }
  if (std::rename(fresh.c_str(), options_.path.c_str()) != 0) {
    log_error("the audit log continues under another name",
              {{"file", fresh}, {"reason", std::generic_category().message(errno)}});
  }
  file_ = std::move(file);
  bytes_ = 0;
}

void AuditLog::write(const Entry& entry) {
  const nlohmann::ordered_json json = {
      {"time", to_ms(entry.when)},
      {"caller", entry.caller},
      {"from", entry.from},
      {"method", entry.method},
      {"subject", entry.subject.substr(0, kTextMax)},
      {"epoch", entry.position.epoch},
      {"version", entry.position.version},
      {"code", entry.code},
      {"message", entry.message.substr(0, kTextMax)},
  };
  // Names may hold any byte.
  const std::string line =
      json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (bytes_ > 0 && bytes_ + line.size() > options_.bytes_max) rotate();
  const ssize_t wrote = file_.valid() ? ::write(file_.get(), line.data(), line.size()) : -1;
  if (wrote == static_cast<ssize_t>(line.size())) {
    bytes_ += line.size();
    return;
  }
  if (lost_++ == 0) {
    log_error("the audit log cannot be written",
              {{"file", options_.path}, {"reason", std::generic_category().message(errno)}});
  }
}

}  // namespace muster::server
