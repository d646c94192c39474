#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/loop.h"
#include "base/random.h"
#include "log/keys.h"
#include "log/replicated_log.h"
#include "store/store.h"

namespace muster::rlog {

/// The common dependencies of all parts of one replica.
struct Context {
  Options options;
  Loop& loop;
  ObjectStore& store;
  Random random;
  Keys keys;

  [[nodiscard]] Deadline by() const { return loop.now() + options.request_timeout; }

  /// Reads an object of the log. A damaged object is kCorrupt, with the store's message: every byte
  /// of a log is needed, so no reader accepts less.
  void get(const Key& key, const std::optional<Revision>& unless, Callback<Object> done) const {
    store.get(key, unless, by(), [done = std::move(done)](Result<Object> object) {
      if (object && !object->damage.empty()) return done({Errc::kCorrupt, object->damage});
      done(std::move(object));
    });
  }
};

/// For code that works on a log without being a replica of it.
[[nodiscard]] inline Context context_at(Loop& loop, Random random, const Place& place) {
  Options options;
  options.prefix = place.prefix;
  options.request_timeout = place.request_timeout;
  return {options, loop, place.store, random, Keys{place.prefix}};
}

/// Whether a retry can help. Otherwise the store's content is wrong, and stays so.
[[nodiscard]] inline bool is_passing(Errc code) {
  return code != Errc::kCorrupt && code != Errc::kConflict && code != Errc::kUnsupported;
}

/// The same error, with the name of the object.
[[nodiscard]] inline Error named(const std::string& key, const Error& error) {
  return {error.code, key + ": " + error.message, error.retry_after};
}

}  // namespace muster::rlog
