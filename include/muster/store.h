#pragma once

#include <muster/arbiter.h>
#include <muster/status.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

MUSTER_BEGIN_NAMESPACE

/// The bytes of an object, and the name of this version of them.
struct StoredObject {
  std::string body;
  std::string revision;
};

/// One entry of a list.
struct StoredKey {
  std::string key;
  std::string revision;
};

/// The condition of a write.
struct WriteCondition {
  enum class Kind : int {
    kNone = 0,        ///< Write in any case.
    kAbsent = 1,      ///< Write only if there is no object.
    kAtRevision = 2,  ///< Write only if the object is at `revision`.
  };
  Kind kind = Kind::kNone;
  std::string revision{};

  /// True if a write may replace an object at `current`; nullopt: there is no object.
  [[nodiscard]] bool holds(const std::optional<std::string>& current) const {
    if (kind == Kind::kNone) return true;
    return kind == Kind::kAbsent ? !current : current && *current == revision;
  }
};

/// What a store can do.
struct StoreTraits {
  /// How many calls of one Store may run at once: 1 to 64.
  int threads = 1;
  /// remove() at a revision is decided by the store. False: the library never asks for that, and
  /// writes a mark first.
  bool removes_at_revision = true;
};

/// A small versioned store of your own, as an arbiter of elections: implement it, register a scheme
/// for it, and prove it with <muster/testing/store_conformance.h>. docs/writing-a-store.md has a
/// complete example on SQLite.
///
/// Required, because two processes may lead at once without it:
/// - put() compares and writes in one atomic step, also against other processes.
/// - A write that returned is kept, and every later read and list of any process shows it.
/// - A revision names one write and is never used again, not even after a removal or a restored
///   backup. A random value for each write will do.
///
/// Calls may block. `within` is the time that is left for a call; the library waits no longer. A
/// write that has not returned by then counts as kAmbiguous, a read as kUnavailable. The thread of
/// a call that never returns is lost, and with it one of StoreTraits::threads.
///
/// Errors: kUnavailable and kThrottled promise that nothing was written and nothing will be. Return
/// kAmbiguous for a write whose outcome is unknown. Exceptions count as kAmbiguous in a write, as
/// kUnavailable in a read. Answers that break a rule below become errors; no answer ends the
/// program.
///
/// Keys are UTF-8 with '/' between parts, at most 1024 bytes. Bodies are bytes, below 64 KiB unless
/// the program itself writes larger ones. One election makes about one call per heartbeat.
///
/// Not guaranteed: that a store which breaks these rules is always detected. Arbiter::probe() and
/// every election refuse one that ignores conditions or loses writes, but not one that fails only
/// when processes race or machines crash.
///
/// Threads: the library calls a Store on threads of its own, at most StoreTraits::threads at once,
/// so that with the default calls never overlap. The end of an arbiter waits at most 5 s for calls
/// that have not returned. A Store is destroyed after its last call has returned, on any thread.
class MUSTER_EXPORT Store {
 public:
  Store();
  virtual ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// kNotFound if there is no object.
  [[nodiscard]] virtual Result<StoredObject> get(const std::string& key, Duration within) = 0;
  /// Writes if `when` holds and returns the new revision: not empty, at most 1024 bytes. kConflict
  /// if `when` does not hold.
  [[nodiscard]] virtual Result<std::string> put(const std::string& key, const std::string& body,
                                                const WriteCondition& when, Duration within) = 0;
  /// Removes the object; with a revision only if it is at that revision, else kConflict. kNotFound
  /// if there is no object.
  [[nodiscard]] virtual Status remove(const std::string& key,
                                      const std::optional<std::string>& revision,
                                      Duration within) = 0;
  /// The first keys, `most` at most, that begin with `prefix` and come after `after`, in byte
  /// order. Fewer than `most` only if there are no more.
  [[nodiscard]] virtual Result<std::vector<StoredKey>> list(const std::string& prefix,
                                                            const std::string& after,
                                                            std::size_t most, Duration within) = 0;
  /// Asked once, when the store is opened.
  [[nodiscard]] virtual StoreTraits traits() const { return {}; }
};

/// The parts of an address such as `mystore://user:password@host:1234,host2/path?name=value`,
/// decoded.
struct StoreAddress {
  std::string scheme;
  std::string user{};
  std::string password{};
  std::vector<std::string> hosts{};  ///< With their ports.
  std::string path{};                ///< With its first '/'; empty if there is none.
  std::map<std::string, std::string> options{};
  Tls tls{};  ///< As passed to Arbiter::open().
};

/// Opens a store, or returns the fault of the address. Refuse options that you do not know. A
/// server need not answer yet: what fails in the first call can be tried again.
using StoreOpener = std::function<Result<std::shared_ptr<Store>>(const StoreAddress&)>;

/// From now on, Arbiter::open() opens addresses that begin with `scheme` and `://` by `open`, once
/// for each arbiter. `open` may throw; that, and a null pointer, is an error of Arbiter::open().
///
/// Returns kInvalid if the scheme is built in or is not a lower-case letter followed by at most 31
/// lower-case letters, digits, '+', '-' and '.', and kConflict if it is registered already.
///
/// Not guaranteed: that a later version of the library has no built-in store for the same scheme.
///
/// Threads: any. `open` is called on the thread that calls Arbiter::open().
[[nodiscard]] MUSTER_EXPORT Status register_scheme(const std::string& scheme, StoreOpener open);

MUSTER_END_NAMESPACE
