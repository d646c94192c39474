#include "tests/server/library_lock.h"

#include <muster/lock.h>

#include <chrono>

namespace library_lock {

std::string take(const std::string& url, const std::string& name, int times,
                 const std::function<void(std::uint64_t token)>& inside) {
  auto arbiter = muster::Arbiter::open(url);
  if (!arbiter) return arbiter.message();
  muster::LockOptions options;
  options.ttl = std::chrono::minutes(1);
  options.wait = std::chrono::minutes(1);
  for (int i = 0; i < times; ++i) {
    auto lock = muster::Lock::acquire(*arbiter, name, options);
    if (!lock) return lock.message();
    inside(lock->token());
    if (const auto unlocked = lock->unlock(); !unlocked) return unlocked.message();
  }
  return {};
}

}  // namespace library_lock
