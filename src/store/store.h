#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/strong.h"
#include "base/time.h"

namespace muster {

/// The name of an object: UTF-8, '/' between parts, no empty part, at most 1024 bytes.
using Key = std::string;
using Deadline = MonoTime;
template <typename T>
using Callback = std::function<void(Result<T>)>;

struct Object {
  std::string body;
  Revision revision;
  /// By the store's own clock, if it has exactly one. For people: no decision uses it.
  std::optional<Duration> age;
  /// Empty for an intact object. Otherwise a sentence from the store that says how `body` differs
  /// from what was written. No caller may use a damaged body as content, but it can be compared and
  /// replaced at its revision like any other, so that no damage lasts for ever.
  std::string damage = {};
};

/// Decodes a body with `decode`; kCorrupt, with the store's message, if the object is damaged.
template <typename Decode>
[[nodiscard]] auto decode_whole(const Object& object, Decode decode)
    -> decltype(decode(object.body)) {
  if (!object.damage.empty()) return Error{Errc::kCorrupt, object.damage};
  return decode(object.body);
}

/// The condition of a write.
struct Precondition {
  enum class Kind { kNone, kAbsent, kAtRevision };
  Kind kind = Kind::kNone;
  Revision revision;  ///< With kAtRevision.

  static Precondition none() { return {}; }
  static Precondition absent() { return {Kind::kAbsent, {}}; }
  static Precondition at(Revision r) { return {Kind::kAtRevision, std::move(r)}; }
};

/// A condition on a second object, checked in the same transaction as a write.
struct Guard {
  Key key;
  Precondition when;
};

struct ListedObject {
  Key key;
  Revision revision;
  std::optional<Duration> age;
};

struct ListPage {
  std::vector<ListedObject> objects;  ///< In byte order of their keys.
  std::string next;                   ///< Pass to the next call; empty after the last page.
  /// A watch from this cursor misses nothing after this list; empty without watch.
  std::string cursor;
};

/// One change under a watched prefix. Several changes of one key may arrive as the last one, but
/// never out of order and never lost without a kReset.
struct WatchEvent {
  enum class Kind {
    kPut,      ///< `object` is the key's new content.
    kRemoved,  ///< The key is gone.
    kReset,    ///< Changes may have been missed: list again. The watch continues.
  };
  Kind kind;
  Key key;
  Object object;
  std::string cursor;  ///< Resumes after this event.
};

/// A running watch; destroying it ends it, and no event comes afterwards.
class Watch {
 public:
  virtual ~Watch() = default;
};

/// The optional capabilities of a store.
struct Capabilities {
  bool watch = false;
  bool guarded_put = false;
  /// remove() at a revision is decided by the store; without this, such a call is kUnsupported.
  bool conditional_remove = false;
  /// Every reader sees writes to different keys in one order.
  bool multi_key_order = false;
};

/// What a look at a store's settings shows, in sentences for people.
struct StoreInspection {
  std::vector<std::string> unsafe;   ///< Why it cannot judge an election; empty if it may.
  std::vector<std::string> remarks;  ///< What its operator should know.
};

/// A small versioned store, shared by all candidates. It decides elections and is the engine under
/// the log.
///
/// Calls return at once. Completions are posted to the loop given at construction, exactly one per
/// call and none after the store is destroyed. Every call ends by its deadline: a read with
/// kUnavailable; a write with kAmbiguous if it may have been sent, with kUnavailable if it
/// certainly was not.
///
/// A store never retries a write: a retried write that had already landed looks like a lost race,
/// and only the caller can tell the two apart. Reads may be retried within their deadline.
///
/// Threads: loop thread only.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  /// For people: the address without secrets.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// How often the store was found to have gone back in time, because an older copy or another
  /// store took its place. Revisions of an earlier history are invalid in a later one. Stores that
  /// never issue a revision twice need not detect that, and return 0.
  [[nodiscard]] virtual std::uint64_t history() const { return 0; }

  /// Looks at the settings of the store, which no call can prove. Stores without any have nothing
  /// to say, and may call `done` at once.
  virtual void inspect(Deadline by, Callback<StoreInspection> done);

  /// Returns kNotFound if the key does not exist, kUnchanged if it is still at `unless`. A damaged
  /// object is an answer, too: see Object::damage.
  virtual void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) = 0;

  /// Writes only if `when` holds; returns the new revision. kConflict: another writer came first.
  /// kAmbiguous: the write may have landed or may land yet; read before you act.
  virtual void put(Key key, std::string body, Precondition when, Deadline by,
                   Callback<Revision> done) = 0;

  /// Like put(), in one transaction with a read of another key. Also kConflict if `guard` fails;
  /// kUnsupported without the capability.
  virtual void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                           Callback<Revision> done) = 0;

  /// Removes the object, with `when` only at that revision. kNotFound if there is none.
  virtual void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) = 0;

  /// One page of the keys that begin with `prefix`; `from` is empty or an earlier page's `next`.
  virtual void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) = 0;

  /// Every change of a key that begins with `prefix`, after `cursor`, or from now on if it is
  /// empty. The store restores a lost connection, and says kReset if that may have missed a change.
  /// Null without the capability.
  virtual std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                                       std::function<void(const WatchEvent&)> on_event);
};

/// Reads all pages of a list, one after another, each within `timeout`. `cursor` is that of the
/// first page, so that a watch from it misses nothing.
void list_all(ObjectStore& store, std::string prefix, const Clock& clock, Duration timeout,
              Callback<ListPage> done);

}  // namespace muster
