#include "log/archive.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <utility>

#include <openssl/evp.h>

#include "base/check.h"

namespace muster::rlog {
namespace {

constexpr std::string_view kMagic = "muster-log-backup/1\n";
constexpr std::size_t kNumberBytes = 8;
/// Longer than any object of a log, so that damage does not become an allocation.
constexpr std::uint64_t kObjectBytesMax = 64 * 1024 * 1024;
constexpr std::uint64_t kKeyBytesMax = 1024;

std::string number(std::uint64_t value) {
  std::string bytes;
  for (std::size_t i = 0; i < kNumberBytes; ++i)
    bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

std::uint64_t number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = kNumberBytes; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

// The three calls below fail only without memory, or in a library without SHA-256: no bytes of an
// archive can make them.
RunningDigest::RunningDigest() : state_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  MUSTER_CHECK(state_ && EVP_DigestInit_ex(state_.get(), EVP_sha256(), nullptr) == 1);
}

void RunningDigest::add(std::string_view bytes) {
  MUSTER_CHECK(EVP_DigestUpdate(state_.get(), bytes.data(), bytes.size()) == 1);
}

Digest RunningDigest::finish() {
  Digest digest;
  MUSTER_CHECK(EVP_DigestFinal_ex(state_.get(), digest.data(), nullptr) == 1);
  return digest;
}

std::string ArchiveWriter::account(std::string bytes) {
  std::string out;
  if (!std::exchange(begun_, true)) out = kMagic;
  out += bytes;
  digest_.add(out);
  return out;
}

std::string ArchiveWriter::object(std::string_view key, std::string_view body) {
  std::string bytes = number(key.size()) + number(body.size());
  bytes += key;
  bytes += body;
  return account(std::move(bytes));
}

// A key of no length says that the digest follows.
std::string ArchiveWriter::end() {
  std::string bytes = account(number(std::uint64_t{0}) + number(sizeof(Digest)));
  const Digest digest = digest_.finish();
  bytes += bytes_of(digest);
  return bytes;
}

Result<std::string> ArchiveReader::take(std::size_t bytes) {
  std::string taken;
  while (taken.size() < bytes) {
    Result<std::string> more = source_(bytes - taken.size());
    if (!more) return more.error();
    if (more->empty()) return {Errc::kCorrupt, "the backup ends too early"};
    taken += *more;
  }
  return taken;
}

Result<ArchiveReader::Item> ArchiveReader::next() {
  if (!std::exchange(begun_, true)) {
    const Result<std::string> magic = take(kMagic.size());
    if (!magic) return magic.error();
    if (*magic != kMagic) return {Errc::kCorrupt, "this is not a backup of a log"};
    digest_.add(*magic);
  }
  const Result<std::string> sizes = take(2 * kNumberBytes);
  if (!sizes) return sizes.error();
  digest_.add(*sizes);
  const std::uint64_t key_bytes = number(std::string_view(*sizes));
  const std::uint64_t body_bytes = number(std::string_view(*sizes).substr(kNumberBytes));
  if (key_bytes > kKeyBytesMax || body_bytes > kObjectBytesMax) {
    return {Errc::kCorrupt, "the backup is damaged: an object has an impossible length"};
  }
  Result<std::string> key = take(key_bytes);
  if (!key) return key.error();
  Result<std::string> body = take(body_bytes);
  if (!body) return body.error();
  if (key_bytes == 0) {
    const Digest digest = digest_.finish();
    if (*body != bytes_of(digest)) return {Errc::kCorrupt, "the backup does not match its digest"};
    return Item{true, {}, {}};
  }
  digest_.add(*key);
  digest_.add(*body);
  return Item{false, std::move(*key), std::move(*body)};
}

ArchiveReader::Source archive_source(const std::string& path) {
  auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  const std::string trouble =
      file->is_open() ? "" : "cannot read " + path + ": " + std::strerror(errno);
  return [file, path, trouble](std::size_t count) -> Result<std::string> {
    if (!trouble.empty()) return {Errc::kInvalid, trouble};
    std::string bytes(count, '\0');
    file->read(bytes.data(), static_cast<std::streamsize>(count));
    if (file->bad()) return {Errc::kInvalid, "cannot read " + path};
    bytes.resize(static_cast<std::size_t>(file->gcount()));
    return bytes;
  };
}

Status check_archive(const std::string& path) {
  const ArchiveReader::Source source = archive_source(path);
  ArchiveReader reader(source);
  while (true) {
    const Result<ArchiveReader::Item> item = reader.next();
    if (!item) {
      return item.is(Errc::kCorrupt) ? Error{Errc::kInvalid, path + ": " + item.error().message}
                                     : item.error();
    }
    if (!item->end) continue;
    const Result<std::string> rest = source(1);
    if (!rest) return rest.error();
    if (rest->empty()) return Done{};
    return {Errc::kInvalid,
            path + ": the backup is followed by other bytes; take a new copy of it"};
  }
}

}  // namespace muster::rlog
