#include "core/lock/lock_handle.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "core/election/records.h"

namespace muster {
namespace {

constexpr std::size_t kHandleBytesMax = 2048;
constexpr std::uint64_t kTtlMsMin = 100;

Error no_handle(const char* why) {
  return {Errc::kInvalid, std::string("handle is not one that Acquire returned: ") + why};
}

/// What comes before the next `separator`, which is removed with it.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

char letter(const LockHandle& handle) {
  if (handle.shape.kind == LockKind::kMutex) return 'm';
  if (handle.shape.kind == LockKind::kSemaphore) return 's';
  return handle.writes ? 'w' : 'r';
}

/// A holder has one permit, and a writer has all of them.
bool plausible(const LockHandle& handle) {
  if (!handle.writes) {
    return handle.permits.size() == 1 && handle.permits[0].permit >= 1 &&
           handle.permits[0].permit <= handle.shape.permits;
  }
  if (handle.permits.size() != handle.shape.permits + 1U) return false;
  for (std::uint32_t i = 0; i < handle.permits.size(); ++i) {
    if (handle.permits[i].permit != i) return false;
  }
  return true;
}

}  // namespace

std::string encode(const LockHandle& handle) {
  std::string text(1, letter(handle));
  text +=
      "/" + std::to_string(handle.shape.permits) + "/" +
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(handle.ttl).count()) +
      "/";
  for (const HeldPermit& held : handle.permits) {
    if (text.back() != '/') text += ',';
    text += std::to_string(held.permit) + "." + std::to_string(held.epoch.value());
  }
  return text + "/" + handle.holder;
}

Result<LockHandle> decode_lock_handle(std::string_view text) {
  if (text.size() > kHandleBytesMax) return no_handle("it is too long");
  LockHandle handle;
  const std::string_view kind = cut(text, '/');
  constexpr std::array kKindOf{
      std::pair{'m', LockKind::kMutex}, std::pair{'s', LockKind::kSemaphore},
      std::pair{'r', LockKind::kReadWrite}, std::pair{'w', LockKind::kReadWrite}};
  bool known = false;
  for (const auto& [name, meaning] : kKindOf) {
    if (kind != std::string_view(&name, 1)) continue;
    known = true;
    handle.shape.kind = meaning;
    handle.writes = name == 'w';
  }
  const auto permits = parse_unsigned(cut(text, '/'));
  const auto ttl = parse_unsigned(cut(text, '/'));
  const auto longest = static_cast<std::uint64_t>(kLeaseMax.count());
  if (!known || !permits || *permits < 1 || *permits > kPermitsMax ||
      (handle.shape.kind == LockKind::kMutex && *permits != 1)) {
    return no_handle("its kind is not known");
  }
  if (!ttl || *ttl < kTtlMsMin || *ttl > longest) return no_handle("its ttl is not possible");
  handle.shape.permits = static_cast<std::uint32_t>(*permits);
  handle.ttl = std::chrono::milliseconds(*ttl);
  std::string_view held = cut(text, '/');
  while (!held.empty()) {
    std::string_view one = cut(held, ',');
    const auto permit = parse_unsigned(cut(one, '.'));
    const auto epoch = parse_unsigned(one);
    if (!permit || *permit > kPermitsMax || !epoch || *epoch < 1 || Epoch(*epoch) > kEpochMax ||
        handle.permits.size() > kPermitsMax) {
      return no_handle("its permits are not possible");
    }
    handle.permits.push_back({static_cast<std::uint32_t>(*permit), Epoch(*epoch)});
  }
  handle.holder = std::string(text);
  if (!plausible(handle)) return no_handle("its permits are not possible");
  if (Status s = validate_name("holder", handle.holder); !s) return no_handle("it names no holder");
  return handle;
}

// The other clock may be slower by the drift: what passed here until the lease began counts less.
std::optional<Duration> left_since_send(MonoTime received, MonoTime until,
                                        const LeaseTerms& terms) {
  const Duration before = until - terms.held() - received;
  if (before < Duration(0)) return {};
  return std::chrono::duration_cast<Duration>(before * (1 - terms.drift)) + terms.held();
}

}  // namespace muster
