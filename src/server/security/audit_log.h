#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "platform/unique_fd.h"

namespace muster::server {

/// Records changes and their callers, one JSON object per line: time, caller, from, method,
/// subject, epoch, version, code, message. It contains no values, so no secret of the clients.
/// Names are cut at 1024 bytes, so that a few calls cannot fill it. It appends to a file of mode
/// 0600 (an existing file gets that mode). A file of `bytes_max` becomes FILE.1, that one FILE.2,
/// and so on up to `files_max`; while no new file can be made, it grows on and none is moved.
/// Records that cannot be written are counted and logged, and the server goes on: a full disk must
/// not stop a cluster. Threads: loop thread only.
class AuditLog {
 public:
  struct Options {
    std::string path;
    std::uint64_t bytes_max = std::uint64_t{64} << 20;
    std::uint32_t files_max = 5;
  };
  /// Where the state stood when the call ended.
  struct Position {
    std::uint64_t epoch = 0;
    std::uint64_t version = 0;
  };
  struct Entry {
    WallTime when;
    std::string caller;
    std::string from;
    std::string method;
    std::string subject;
    Position position;
    int code = 0;  ///< gRPC's; 0 when it was done.
    std::string message;
  };

  explicit AuditLog(Options options) : options_(std::move(options)) {}
  /// kUnavailable if the file cannot be opened to append. Also reopens it after another program
  /// has moved it away.
  [[nodiscard]] Status open();
  void write(const Entry& entry);
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  void rotate();
  [[nodiscard]] std::string numbered(std::uint32_t number) const;

  const Options options_;
  UniqueFd file_;
  std::uint64_t bytes_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace muster::server
