#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/log/digest.h"

struct evp_md_ctx_st;

namespace muster::rlog {

/// A SHA-256 over what comes piece by piece.
class RunningDigest {
 public:
  RunningDigest();
  void add(std::string_view bytes);
  [[nodiscard]] Digest finish();

 private:
  std::shared_ptr<evp_md_ctx_st> state_;
};

/// Builds a backup's bytes, object by object.
class ArchiveWriter {
 public:
  static constexpr const char* kManifest = "log/manifest";
  [[nodiscard]] std::string object(std::string_view key, std::string_view body);
  /// The last bytes: a digest of all before.
  [[nodiscard]] std::string end();

 private:
  std::string account(std::string bytes);
  bool begun_ = false;
  RunningDigest digest_;
};

/// Reads them back. kCorrupt when they are cut off or not what was written.
class ArchiveReader {
 public:
  using Source = std::function<Result<std::string>(std::size_t bytes)>;
  struct Item {
    bool end = false;  ///< Nothing comes after this, and the digest was right.
    std::string key;
    std::string body;
  };

  explicit ArchiveReader(Source source) : source_(std::move(source)) {}
  [[nodiscard]] Result<Item> next();

 private:
  Result<std::string> take(std::size_t bytes);
  bool begun_ = false;
  Source source_;
  RunningDigest digest_;
};

/// The bytes of a file, for ArchiveReader and Restore. A file that cannot be read is kInvalid when
/// it is first asked.
[[nodiscard]] ArchiveReader::Source archive_source(const std::string& path);
/// Reads a whole backup and compares it with its digest; what is wrong with it otherwise.
[[nodiscard]] Status check_archive(const std::string& path);

}  // namespace muster::rlog
