#include "server/guard/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/log.h"

namespace muster::server {

Status AuditLog::open() {
  UniqueFd file(::open(options_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  struct stat facts {};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) {
    return {Errc::kUnavailable, "cannot open the audit log " + options_.path + ": " +
                                    std::generic_category().message(errno)};
  }
  file_ = std::move(file);
  bytes_ = static_cast<std::uint64_t>(facts.st_size);
  return Done{};
}

void AuditLog::rotate() {
  for (std::uint32_t i = options_.files_max - 1; i >= 1; --i) {
    const std::string from = i == 1 ? options_.path : options_.path + "." + std::to_string(i - 1);
    // The older ones may not be there yet.
    std::rename(from.c_str(), (options_.path + "." + std::to_string(i)).c_str());
  }
  if (const Status opened = open(); !opened) {
    log_error("the audit log could not be rotated", {{"reason", opened.error().message}});
  }
}

void AuditLog::write(const Entry& entry) {
  const nlohmann::ordered_json json = {
      {"time", to_ms(entry.when)},
      {"caller", entry.caller},
      {"from", entry.from},
      {"method", entry.method},
      {"subject", entry.subject},
      {"epoch", entry.position.epoch},
      {"version", entry.position.version},
      {"code", entry.code},
      {"message", entry.message},
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
