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

/// Names an object: UTF-8, '/' between parts, no empty part, at most 1024 bytes.
using Key = std::string;
using Deadline = MonoTime;
template <typename T>
using Callback = std::function<void(Result<T>)>;

struct Object {
  std::string body;
  Revision revision;
  /// By the store's own clock, where it has exactly one. For people: nothing is decided by it.
  std::optional<Duration> age;
  /// Empty for a whole object. Otherwise the store knows that `body` is not what was written and
  /// says how, in a sentence: nobody may take it for that, but it is read, compared and replaced at
  /// its revision as any other, so that no damage lasts for ever.
  std::string damage = {};
};

/// What `decode` makes of a body; kCorrupt, in the store's words, when the store found it damaged.
template <typename Decode>
[[nodiscard]] auto decode_whole(const Object& object, Decode decode)
    -> decltype(decode(object.body)) {
  if (!object.damage.empty()) return Error{Errc::kCorrupt, object.damage};
  return decode(object.body);
}

/// What must hold for a write to happen.
struct Precondition {
  enum class Kind { kNone, kAbsent, kAtRevision };
  Kind kind = Kind::kNone;
  Revision revision;  ///< With kAtRevision.

  static Precondition none() { return {}; }
  static Precondition absent() { return {Kind::kAbsent, {}}; }
  static Precondition at(Revision r) { return {Kind::kAtRevision, std::move(r)}; }
};

/// A second object that must be as stated, in the same transaction as a write.
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
  /// Where a watch may begin so that nothing after this list is missed; empty without watch.
  std::string cursor;
};

/// One change under a watched prefix. Several changes of one key may arrive as its last one, but
/// never out of order and never silently lost.
struct WatchEvent {
  enum class Kind {
    kPut,      ///< `object` is the key's new content.
    kRemoved,  ///< The key is gone.
    kReset,    ///< Changes may have been missed: list again. The watch goes on from here.
  };
  Kind kind;
  Key key;
  Object object;
  std::string cursor;  ///< Resumes after this event.
};

/// A running watch; destroying it ends it, and no event comes after that.
class Watch {
 public:
  virtual ~Watch() = default;
};

/// What a store can do beyond get, put, remove and list.
struct Capabilities {
  bool watch = false;
  bool guarded_put = false;
  /// remove() at a revision is decided by the store; without it such a call is kUnsupported.
  bool conditional_remove = false;
  /// Writes to different keys are seen by every reader in one order.
  bool multi_key_order = false;
};

/// A small versioned store that every candidate shares: the judge of each election and the engine
/// under the log.
///
/// Calls return at once; completions are posted to the loop given at construction, exactly one for
/// each call and none after the store is destroyed. Every call ends by its deadline: a read with
/// kUnavailable, a write with kAmbiguous when it may have been sent and kUnavailable when it
/// certainly was not.
///
/// Never retries a write by itself: a retried write that had already landed looks like a lost
/// race, so only the caller can tell the two apart. Reads may be retried within their deadline.
///
/// Loop thread only.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  /// For people: the address without secrets.
  [[nodiscard]] virtual std::string describe() const = 0;
  /// How often the store was found to have gone back in time: an older copy, or another store, took
  /// its place. No revision of an earlier history holds in a later one. Stores whose revisions are
  /// never given out twice need not notice, and say 0.
  [[nodiscard]] virtual std::uint64_t history() const { return 0; }

  /// kNotFound when the key does not exist, kUnchanged when it is still at `unless`. A damaged
  /// object is an answer, too: see Object::damage.
  virtual void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) = 0;

  /// Writes only if `when` holds and answers with the new revision. kConflict: another writer came
  /// first. kAmbiguous: the write may have landed or may land yet; read before you act.
  virtual void put(Key key, std::string body, Precondition when, Deadline by,
                   Callback<Revision> done) = 0;

  /// As put(), in one transaction with a look at another key. kConflict also when `guard` fails,
  /// kUnsupported without the capability.
  virtual void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                           Callback<Revision> done) = 0;

  /// Removes the object, with `when` only at that revision. kNotFound when there is none.
  virtual void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) = 0;

  /// One page of the keys that begin with `prefix`; `from` is empty or an earlier page's `next`.
  virtual void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) = 0;

  /// Every change of a key that begins with `prefix`, after `cursor`, or from now on when it is
  /// empty. A connection lost is made again by the store; when that may have missed a change it
  /// says kReset. Null without the capability.
  virtual std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                                       std::function<void(const WatchEvent&)> on_event);
};

/// All pages of a list, one after another, each within `timeout`: however many there are, all of
/// them can be read. `cursor` is that of the first page, so that a watch from it misses nothing.
void list_all(ObjectStore& store, std::string prefix, const Clock& clock, Duration timeout,
              Callback<ListPage> done);

}  // namespace muster
