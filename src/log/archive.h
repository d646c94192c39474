#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/log/digest.h"

struct evp_md_ctx_st;

namespace muster::rlog {

/// A SHA-256 over data that arrives in pieces.
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

/// Reads a backup back. kCorrupt if it is cut off or was changed.
class ArchiveReader {
 public:
  using Source = std::function<Result<std::string>(std::size_t bytes)>;
  struct Item {
    bool end = false;  ///< The end of the backup; the digest matched.
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

/// The bytes of a file, for ArchiveReader and Restore. A file that cannot be read is kInvalid at
/// the first call.
[[nodiscard]] ArchiveReader::Source archive_source(const std::string& path);
/// Reads a whole backup and checks its digest, and that nothing follows it; returns what is wrong
/// with it.
[[nodiscard]] Status check_archive(const std::string& path);

}  // namespace muster::rlog
