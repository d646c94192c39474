#include "core/lock/lock_records.h"

#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/json_bounds.h"
#include "base/text.h"

namespace muster {
namespace {

constexpr int kLockFormat = 1;
constexpr const char* kKinds[] = {"mutex", "semaphore", "read-write"};

Error bad_lock(const std::string& why) {
  return {Errc::kCorrupt, "lock.json: " + why};
}

std::optional<LockKind> kind_of(const nlohmann::json& name) {
  for (const LockKind kind : {LockKind::kMutex, LockKind::kSemaphore, LockKind::kReadWrite}) {
    if (name == kKinds[static_cast<std::size_t>(kind)]) return kind;
  }
  return {};
}

}  // namespace

std::string to_string(const LockShape& shape) {
  if (shape.kind == LockKind::kMutex) return "a mutex";
  return std::string(shape.kind == LockKind::kSemaphore ? "a semaphore" : "a read/write lock") +
         " with " + std::to_string(shape.permits) + (shape.permits == 1 ? " permit" : " permits");
}

std::string encode(const LockShape& shape, const Nonce& nonce) {
  const nlohmann::json json = {{"format", kLockFormat},
                               {"kind", kKinds[static_cast<std::size_t>(shape.kind)]},
                               {"permits", shape.permits},
                               {"nonce", nonce.value()}};
  return json.dump();
}

Result<LockShape> decode_lock_shape(std::string_view body) {
  if (Status s = check_json_bounds(body); !s) return bad_lock(s.error().message);
  const auto json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return bad_lock("the body is not a JSON object");
  const auto format = json.find("format");
  if (format == json.end() || !format->is_number_unsigned()) return bad_lock("no format");
  if (*format != kLockFormat) {
    return {Errc::kUnsupported, "lock.json was written by a later version (format " +
                                    format->dump() + "); upgrade this process"};
  }
  const auto kind = json.find("kind");
  const auto permits = json.find("permits");
  const auto known = kind == json.end() ? std::nullopt : kind_of(*kind);
  if (!known) return bad_lock("the kind is not known");
  if (permits == json.end() || !permits->is_number_unsigned() || *permits < 1U ||
      *permits > kPermitsMax || (*known == LockKind::kMutex && *permits != 1U)) {
    return bad_lock("the number of permits is not possible");
  }
  return LockShape{*known, permits->get<std::uint32_t>()};
}

std::optional<std::uint32_t> LockKeys::permit_of(std::string_view key) const {
  if (!key.starts_with(root)) return {};
  key.remove_prefix(root.size());
  if (key.starts_with("writer/")) return kWriters;
  constexpr std::string_view kPermit = "permit=";
  const std::size_t end = key.find('/');
  if (!key.starts_with(kPermit) || end == key.npos) return {};
  const auto number = parse_unsigned(key.substr(kPermit.size(), end - kPermit.size()));
  if (!number || *number < 1 || *number > kPermitsMax) return {};
  return static_cast<std::uint32_t>(*number);
}

}  // namespace muster
