#include "api/foreign_store.h"

#include <exception>
#include <utility>
#include <vector>

#include "platform/system_clock.h"

namespace muster::api {
namespace {

namespace pub = muster::api_v1;

constexpr std::size_t kPage = 1000;
constexpr std::size_t kRevisionMax = 1024;

bool good_revision(const std::string& revision) {
  return !revision.empty() && revision.size() <= kRevisionMax;
}

Error broken(const std::string& what) {
  return {Errc::kCorrupt, "the store breaks a rule of its interface: " + what};
}

pub::WriteCondition condition_of(const Precondition& when) {
  using Kind = pub::WriteCondition::Kind;
  switch (when.kind) {
    case Precondition::Kind::kNone:
      return {};
    case Precondition::Kind::kAbsent:
      return {Kind::kAbsent, {}};
    case Precondition::Kind::kAtRevision:
      break;
  }
  return {Kind::kAtRevision, when.revision.value()};
}

/// The failures that mean the same in every call. Those that only some calls may return, and
/// numbers that are no code, are `other`.
Error common_failure(const pub::Error& error, Errc other) {
  const std::string why = error.message.empty() ? pub::to_string(error.code) : error.message;
  switch (error.code) {
    case pub::Code::kThrottled:
      return {Errc::kThrottled, why};
    case pub::Code::kUnavailable:
      return {Errc::kUnavailable, why};
    case pub::Code::kDenied:
      return {Errc::kDenied, why};
    // "Cannot do that" has meanings of its own inside; for an operator it is the same.
    case pub::Code::kUnsupported:
    case pub::Code::kInvalid:
      return {Errc::kInvalid, why};
    default:
      return {other, why};
  }
}

Error read_failure(const pub::Error& error) {
  if (error.code == pub::Code::kNotFound) return {Errc::kNotFound, error.message};
  return common_failure(error, Errc::kUnavailable);
}

Error write_failure(const pub::Error& error, bool conditional) {
  if (error.code == pub::Code::kConflict && conditional) return {Errc::kConflict, error.message};
  return common_failure(error, Errc::kAmbiguous);
}

Result<Object> checked(pub::Result<pub::StoredObject> found,
                       const std::optional<Revision>& unless) {
  if (!found) return read_failure(found.error());
  if (!good_revision(found->revision)) return broken("get() returned an object without a revision");
  if (unless && unless->value() == found->revision) {
    return {Errc::kUnchanged, "the object is still at that revision"};
  }
  return Object{std::move(found->body), Revision(std::move(found->revision)), {}};
}

Result<Revision> checked(pub::Result<std::string> written, const Precondition& when) {
  const bool at_revision = when.kind == Precondition::Kind::kAtRevision;
  if (!written) {
    // An object that is gone is at no revision.
    if (at_revision && written.is(pub::Code::kNotFound))
      return {Errc::kConflict, written.message()};
    return write_failure(written.error(), when.kind != Precondition::Kind::kNone);
  }
  if (!good_revision(*written)) {
    return {Errc::kAmbiguous, broken("put() returned no revision").message};
  }
  return Revision(*std::move(written));
}

Result<ListPage> checked(pub::Result<std::vector<pub::StoredKey>> listed, const std::string& prefix,
                         const std::string& after) {
  if (!listed) return common_failure(listed.error(), Errc::kUnavailable);
  if (listed->size() > kPage) {
    return broken("list() returned " + std::to_string(listed->size()) + " keys instead of " +
                  std::to_string(kPage) + " at most");
  }
  ListPage page;
  const std::string* before = &after;
  for (const pub::StoredKey& each : *listed) {
    if (!each.key.starts_with(prefix))
      return broken("list() returned \"" + each.key + "\" for the prefix \"" + prefix + "\"");
    if (each.key <= *before)
      return broken("list() returned \"" + each.key + "\" after \"" + *before + "\"");
    if (!good_revision(each.revision))
      return broken("list() returned \"" + each.key + "\" without a revision");
    page.objects.push_back({each.key, Revision(each.revision), {}});
    before = &each.key;
  }
  if (listed->size() == kPage) page.next = *before;
  return page;
}

/// What the store threw, as a failure of the call.
template <typename T, typename Call>
pub::Result<T> caught(const char* what, Call call) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return {pub::Code::kAmbiguous,
            std::string(what) + " of the store has thrown: " + thrown.what()};
  } catch (...) {
    return {pub::Code::kAmbiguous, std::string(what) + " of the store has thrown"};
  }
}

}  // namespace

ForeignStore::ForeignStore(Loop& loop, std::shared_ptr<pub::Store> store, pub::StoreTraits traits,
                           std::string address)
    : loop_(loop),
      traits_(traits),
      address_(std::move(address)),
      gate_(std::make_shared<Gate>()),
      workers_(std::move(store), traits.threads) {
  const MutexLock lock(gate_->mutex);
  gate_->loop = &loop;
}

ForeignStore::~ForeignStore() {
  for (const auto& [id, pending] : pending_) loop_.cancel(pending.timer);
  const MutexLock lock(gate_->mutex);
  gate_->loop = nullptr;
}

Capabilities ForeignStore::capabilities() const {
  return {.conditional_remove = traits_.removes_at_revision};
}

void ForeignStore::get(Key key, std::optional<Revision> unless, Deadline by,
                       Callback<Object> done) {
  call<Object>(
      "get()", false, by, std::move(done),
      [key = std::move(key), unless = std::move(unless)](pub::Store& store, Duration within) {
        return checked(caught<pub::StoredObject>("get()", [&] { return store.get(key, within); }),
                       unless);
      });
}

void ForeignStore::put(Key key, std::string body, Precondition when, Deadline by,
                       Callback<Revision> done) {
  call<Revision>(
      "put()", true, by, std::move(done),
      [key = std::move(key), body = std::move(body), when = std::move(when)](pub::Store& store,
                                                                             Duration within) {
        return checked(
            caught<std::string>("put()",
                                [&] { return store.put(key, body, condition_of(when), within); }),
            when);
      });
}

void ForeignStore::guarded_put(Key, std::string, Precondition, Guard, Deadline,
                               Callback<Revision> done) {
  refuse(Errc::kUnsupported, "this store has no transactions over two keys", std::move(done));
}

void ForeignStore::remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) {
  if (when && !traits_.removes_at_revision)
    return refuse(Errc::kUnsupported, "this store cannot remove at a revision", std::move(done));
  call<Done>(
      "remove()", true, by, std::move(done),
      [key = std::move(key), when = std::move(when)](pub::Store& store, Duration within) -> Status {
        std::optional<std::string> revision;
        if (when) revision = when->value();
        const pub::Status removed =
            caught<pub::Done>("remove()", [&] { return store.remove(key, revision, within); });
        if (removed) return Done{};
        if (removed.is(pub::Code::kNotFound)) return {Errc::kNotFound, removed.message()};
        return write_failure(removed.error(), when.has_value());
      });
}

void ForeignStore::list(std::string prefix, std::string from, Deadline by,
                        Callback<ListPage> done) {
  call<ListPage>(
      "list()", false, by, std::move(done),
      [prefix = std::move(prefix), from = std::move(from)](pub::Store& store, Duration within) {
        return checked(caught<std::vector<pub::StoredKey>>(
                           "list()", [&] { return store.list(prefix, from, kPage, within); }),
                       prefix, from);
      });
}

template <typename T>
void ForeignStore::refuse(Errc code, std::string why, Callback<T> done) {
  loop_.post(lifetime_.wrap(
      [done = std::move(done), error = Error{code, std::move(why)}] { done(Result<T>(error)); }));
}

template <typename T>
void ForeignStore::call(const char* what, bool writes, Deadline by, Callback<T> done,
                        Work<T> work) {
  if (loop_.now() >= by)
    return refuse(Errc::kUnavailable, "the deadline had passed before the call", std::move(done));
  const std::uint64_t id = next_id_++;
  const auto job = workers_.submit([this, gate = gate_, alive = lifetime_.token(), id, by,
                                    work = std::move(work)](pub::Store& store) {
    const Duration within = by - boot_now();
    std::any result = Error{Errc::kUnavailable, "earlier calls of the store took too long"};
    if (within > Duration(0)) result = work(store, within);
    const MutexLock lock(gate->mutex);
    if (gate->loop == nullptr) return;
    gate->loop->post([this, alive, id, result = std::move(result)]() mutable {
      if (!alive.expired()) finish(id, std::move(result));
    });
  });
  if (!job) return refuse(Errc::kThrottled, "too many calls wait for the store", std::move(done));
  pending_[id] = {*job, loop_.at(by, [this, id] { expire(id); }), writes, what,
                  [done = std::move(done)](std::any result) {
                    if (const auto* failed = std::any_cast<Error>(&result))
                      return done(Result<T>(*failed));
                    done(std::any_cast<Result<T>>(std::move(result)));
                  }};
}

void ForeignStore::finish(std::uint64_t id, std::any result) {
  auto pending = pending_.extract(id);
  if (pending.empty()) return;  // Its deadline came first.
  loop_.cancel(pending.mapped().timer);
  pending.mapped().finish(std::move(result));
}

void ForeignStore::expire(std::uint64_t id) {
  auto pending = pending_.extract(id);
  if (pending.empty()) return;
  const Pending& late = pending.mapped();
  if (workers_.withdraw(late.job)) {
    return late.finish(Error{Errc::kUnavailable, "earlier calls of the store have not returned"});
  }
  late.finish(Error{late.writes ? Errc::kAmbiguous : Errc::kUnavailable,
                    std::string(late.what) + " of the store did not return by its deadline"});
}

}  // namespace muster::api
