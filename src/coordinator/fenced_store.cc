#include "coordinator/fenced_store.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "core/election/epoch_fence.h"
#include "elector/settled_put.h"

namespace muster {
namespace {

constexpr std::string_view kMagic = "muster-fenced/1";
constexpr std::string_view kWithBody = "body";
constexpr std::string_view kWithoutBody = "none";
// Writers of one epoch that lose this often in a row should talk to each other.
constexpr int kAttemptsMax = 16;

Error corrupt(const std::string& why) {
  return {Errc::kCorrupt, "not a fenced object: " + why};
}

}  // namespace

std::string encode(const FencedObject& object, const std::string& nonce) {
  std::string bytes(kMagic);
  bytes += ' ' + std::to_string(object.epoch.value()) + ' ' + nonce + ' ';
  bytes += object.body ? kWithBody : kWithoutBody;
  bytes += '\n';
  if (object.body) bytes += *object.body;
  return bytes;
}

Result<FencedObject> decode_fenced(std::string_view bytes) {
  const auto line_end = bytes.find('\n');
  if (line_end == std::string_view::npos) return corrupt("there is no first line");
  const std::vector<std::string_view> parts = split(bytes.substr(0, line_end), ' ');
  if (parts.size() != 4 || parts[0] != kMagic) return corrupt("the first line has another format");
  const auto epoch = parse_unsigned(parts[1]);
  if (!epoch) return corrupt("the epoch is not a whole number");
  const std::string_view body = bytes.substr(line_end + 1);
  if (parts[3] == kWithBody) return FencedObject{Epoch(*epoch), std::string(body)};
  if (parts[3] == kWithoutBody && body.empty()) return FencedObject{Epoch(*epoch), {}};
  return corrupt("the first line does not match the body");
}

Result<FencedStore::Found> FencedStore::find(const Key& key) {
  const Result<Object> found = store_.get(key);
  if (found.is(Errc::kNotFound)) return Found{{}, Precondition::absent()};
  if (!found) return found.error();
  if (!found->damage.empty()) return Error{Errc::kCorrupt, key + ": " + found->damage};
  Result<FencedObject> object = decode_fenced(found->body);
  if (!object) return Error{object.code(), key + " is " + object.error().message};
  return Found{*std::move(object), Precondition::at(found->revision)};
}

template <typename Change>
Status FencedStore::write(const Key& key, Epoch epoch, Change change) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    Result<Found> found = find(key);
    if (!found) return found.error();
    EpochGuard guard(found->object.epoch);
    if (!guard.admit(epoch)) {
      if (plugin_) plugin_->count_epoch_drift();
      return {Errc::kDenied, key + ": epoch " + std::to_string(epoch.value()) + " is behind " +
                                 std::to_string(guard.highest().value())};
    }
    found->object.epoch = epoch;
    change(found->object);
    const Result<Revision> written =
        settled_put(store_, key, encode(found->object, nonces_.next()), found->unchanged);
    if (written) return Done{};
    if (!written.is(Errc::kConflict)) return written.error();
  }
  return {Errc::kConflict, key + " changes faster than it can be written"};
}

Result<FencedObject> FencedStore::get(const Key& key) {
  Result<Found> found = find(key);
  if (!found) return found.error();
  if (!found->object.body) return {Errc::kNotFound, key + " does not exist"};
  return std::move(found->object);
}

Status FencedStore::put(const Key& key, std::string body, Epoch epoch) {
  return write(key, epoch, [&](FencedObject& object) { object.body = body; });
}

Status FencedStore::fence(const Key& key, Epoch epoch) {
  return write(key, epoch, [](FencedObject&) {});
}

Status FencedStore::erase(const Key& key, Epoch epoch) {
  return write(key, epoch, [](FencedObject& object) { object.body.reset(); });
}

}  // namespace muster
