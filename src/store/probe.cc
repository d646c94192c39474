#include "store/probe.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/log.h"

namespace muster {
namespace {

/// Attempts to remove the scratch object, each with twice the time of the one before.
constexpr int kRemovalsMax = 6;

/// The steps in order, each started by the answer to the one before. Kept alive by the callback
/// that the store holds.
class Probe : public std::enable_shared_from_this<Probe> {
 public:
  Probe(ObjectStore& store, const Clock& clock, Random& random, Duration per_call,
        Callback<Done> done, ProbedStore whose)
      : store_(store),
        clock_(clock),
        per_call_(per_call),
        whose_(whose),
        done_(std::move(done)),
        nonce_(random.uuid()),
        key_("muster-probe/" + random.uuid()) {}

  void start() {
    store_.inspect(by(), screened<StoreInspection>("settings", [this](const auto& seen) {
                     if (!seen->unsafe.empty()) return unsafe("settings", seen->unsafe.front());
                     expect_absent("absent object", &Probe::create);
                   }));
  }

 private:
  using Step = void (Probe::*)();

  void create() {
    written_ = body("created");
    put(written_, Precondition::absent(), "create", [this](const Result<Revision>& made) {
      if (!made) {
        return refused("create", written_, [this] {
          unsafe("create", "an object that does not exist could not be created");
        });
      }
      first_ = current_ = *made;
      expect_current("read after create", &Probe::create_again);
    });
  }

  void create_again() {
    put(body("created twice"), Precondition::absent(), "create twice",
        [this](const Result<Revision>& made) {
          if (made) return unsafe("create twice", "an existing object was created again");
          expect_current("create twice", &Probe::replace);
        });
  }

  void replace() {
    const std::string next = body("replaced");
    put(next, Precondition::at(current_), "right revision",
        [this, next](const Result<Revision>& replaced) {
          if (!replaced) {
            return refused("right revision", next, [this] {
              unsafe("right revision", "a write at the current revision was refused");
            });
          }
          if (*replaced == first_)
            return unsafe("right revision", "a new body got the revision of the old one");
          written_ = next;
          current_ = *replaced;
          expect_current("right revision", &Probe::replace_stale);
        });
  }

  void replace_stale() {
    put(body("stale"), Precondition::at(first_), "stale revision",
        [this](const Result<Revision>& replaced) {
          if (replaced)
            return unsafe("stale revision", "a write at an outdated revision was accepted");
          expect_current("stale revision", &Probe::reread);
        });
  }

  void reread() {
    store_.get(key_, current_, by(), screened<Object>("unchanged", [this](const auto& read) {
                 if (!read.is(Errc::kUnchanged))
                   return unsafe("unchanged", "an unchanged object was not recognized as such");
                 list();
               }));
  }

  void list() {
    store_.list(key_, "", by(), screened<ListPage>("list after write", [this](const auto& page) {
                  const bool listed =
                      page && std::any_of(page->objects.begin(), page->objects.end(),
                                          [this](const ListedObject& object) {
                                            return object.key == key_ &&
                                                   object.revision == current_;
                                          });
                  if (!listed)
                    return unsafe("list after write",
                                  "a list did not show an object that had just been "
                                  "written");
                  store_.capabilities().conditional_remove ? remove_stale() : remove();
                }));
  }

  void remove_stale() {
    store_.remove(key_, first_, by(), screened<Done>("stale removal", [this](const auto& removed) {
                    if (removed)
                      return unsafe("stale removal",
                                    "a removal at an outdated revision was accepted");
                    expect_current("stale removal", &Probe::remove);
                  }));
  }

  void remove() {
    store_.remove(key_, {}, by(), screened<Done>("removal", [this](const auto& removed) {
                    if (!removed) {
                      return refused("removal", std::nullopt, [this] {
                        unsafe("removal", "an object that exists could not be removed");
                      });
                    }
                    expect_absent("removal", &Probe::replace_absent);
                  }));
  }

  void replace_absent() {
    put(body("risen"), Precondition::at(current_), "revision of an absent object",
        [this](const Result<Revision>& replaced) {
          if (replaced)
            return unsafe("revision of an absent object",
                          "a write at the revision of a removed object was accepted");
          expect_absent("revision of an absent object",
                        whose_ == ProbedStore::kOfProgram ? &Probe::create_anew : &Probe::accept);
        });
  }

  void create_anew() {
    const std::string anew = body("created anew");
    put(anew, Precondition::absent(), "create anew", [this, anew](const Result<Revision>& made) {
      if (!made) {
        return refused("create anew", anew, [this] {
          unsafe("create anew", "an object that had been removed could not be created again");
        });
      }
      if (*made == first_ || *made == current_) {
        return unsafe("create anew",
                      "an object that was made anew got the revision of a removed one");
      }
      written_ = anew;
      current_ = *made;
      expect_current("create anew", &Probe::accept);
    });
  }

  void accept() { finish(Done{}); }

  void expect_absent(const char* step, Step next) {
    store_.get(key_, {}, by(), screened<Object>(step, [this, step, next](const auto& read) {
                 if (!read.is(Errc::kNotFound))
                   return unsafe(step, "an object that does not exist was not reported as absent");
                 (this->*next)();
               }));
  }

  /// A refused write must not have happened, and an accepted one must have.
  void expect_current(const char* step, Step next) {
    store_.get(key_, {}, by(), screened<Object>(step, [this, step, next](const auto& read) {
                 if (!read || read->body != written_ || read->revision != current_)
                   return unsafe(step, "a read did not show the last accepted write");
                 (this->*next)();
               }));
  }

  /// E6: proxies send a write twice, unseen, and pass on the refusal of the second. One that was
  /// refused and is there all the same says nothing about the store; `otherwise` does.
  void refused(const char* step, const std::optional<std::string>& wanted,
               std::function<void()> otherwise) {
    store_.get(key_, {}, by(),
               screened<Object>(step, [this, step, wanted, otherwise = std::move(otherwise)](
                                          const Result<Object>& read) {
                 const bool there = read && wanted && read->body == *wanted;
                 const bool gone = read.is(Errc::kNotFound) && !wanted;
                 if (!there && !gone) return otherwise();
                 no_verdict(step, {Errc::kUnavailable,
                                   "a write was refused but has happened; something between this "
                                   "machine and the store sends requests twice"});
               }));
  }

  void put(std::string body, Precondition when, const char* step,
           std::function<void(const Result<Revision>&)> judge) {
    touched_ = true;
    store_.put(key_, std::move(body), std::move(when), by(),
               screened<Revision>(step, std::move(judge)));
  }

  /// Lets only answers through that say something about the store's promises.
  template <typename T>
  Callback<T> screened(const char* step, std::function<void(const Result<T>&)> judge) {
    return [self = shared_from_this(), step, judge = std::move(judge)](Result<T> result) {
      if (result || result.is(Errc::kConflict) || result.is(Errc::kNotFound) ||
          result.is(Errc::kUnchanged))
        return judge(result);
      // Only an answer can break the rules of the interface.
      if (result.is(Errc::kCorrupt)) return self->unsafe(step, result.error().message);
      self->no_verdict(step, result.error());
    };
  }

  void no_verdict(const char* step, Error error) {
    if (error.code == Errc::kAmbiguous) error.code = Errc::kUnavailable;
    // "Cannot do that" is no broken promise: another kind of server may answer there.
    const bool answered = is_lasting(error.code);
    if (error.code == Errc::kUnsupported) error.code = Errc::kInvalid;
    error.message = "the probe of " + store_.describe() +
                    (answered ? " was refused at step \"" : " got no answer at step \"") + step +
                    "\": " + error.message;
    finish(std::move(error));
  }

  void unsafe(const std::string& step, const std::string& what) {
    finish(Error{Errc::kUnsupported,
                 "unsafe store " + store_.describe() + ": it failed the step \"" + step +
                     "\" of the probe: " + what + ", so it cannot judge an election"});
  }

  void finish(Status verdict) {
    if (!touched_) return done_(std::move(verdict));
    store_.remove(key_, {}, by(), [self = shared_from_this(), verdict](const Status& removed) {
      self->done_(verdict);
      if (!removed && !removed.is(Errc::kNotFound)) self->clean_up(1);
    });
  }

  /// A busy store may take the removal when it is given more time. Nobody waits for that.
  void clean_up(int tries) {
    const Deadline by = clock_.now() + (per_call_ * (1 << tries));
    store_.remove(key_, {}, by, [self = shared_from_this(), tries](const Status& removed) {
      if (removed || removed.is(Errc::kNotFound)) return;
      if (tries < kRemovalsMax && !is_lasting(removed.code())) return self->clean_up(tries + 1);
      log_warn("the probe could not remove its scratch object",
               {{"key", self->key_}, {"reason", removed.error().message}});
    });
  }

  [[nodiscard]] Deadline by() const { return clock_.now() + per_call_; }
  [[nodiscard]] std::string body(const char* step) const { return nonce_ + " " + step; }

  ObjectStore& store_;
  const Clock& clock_;
  const Duration per_call_;
  const ProbedStore whose_;
  const Callback<Done> done_;
  const std::string nonce_;
  const Key key_;
  bool touched_ = false;  ///< There may be something to remove.
  std::string written_;   ///< The body that must be there now,
  Revision current_;      ///< at this revision.
  Revision first_;        ///< An outdated one.
};

}  // namespace

void probe_store(ObjectStore& store, const Clock& clock, Random& random, Duration per_call,
                 Callback<Done> done, ProbedStore whose) {
  std::make_shared<Probe>(store, clock, random, per_call, std::move(done), whose)->start();
}

}  // namespace muster
