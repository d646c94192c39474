#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "elector/lease_guard.h"
#include "elector/sync_store.h"
#include "platform/event_loop.h"
#include "store/memory/memory_store.h"

namespace muster::stage {

/// A real loop whose clocks a test sets.
class SetClockLoop final : public Loop {
 public:
  explicit SetClockLoop(Loop& loop) : loop_(loop) {}
  [[nodiscard]] MonoTime now() const override { return MonoTime(Duration(mono_ns_.load())); }
  [[nodiscard]] WallTime wall_now() const override { return wall_from_ms(wall_ms_.load()); }
  void post(Task task) override { loop_.post(std::move(task)); }
  TimerId at(MonoTime when, Task task) override { return loop_.at(when, std::move(task)); }
  void cancel(TimerId id) override { loop_.cancel(id); }

  void set_wall(WallTime t) { wall_ms_ = to_ms(t); }
  void set_mono(MonoTime t) { mono_ns_ = t.time_since_epoch().count(); }

 private:
  Loop& loop_;
  std::atomic<std::int64_t> mono_ns_{0};
  std::atomic<std::int64_t> wall_ms_{0};
};

enum class Fault {
  kNone,
  kUnavailable,  ///< Nothing happened, and it is known.
  kConflict,     ///< Nothing happened, and it looks like a lost race.
  kLost,         ///< Nothing happened, and nobody knows.
  kLanded,       ///< It happened, and nobody knows.
  kLate,         ///< As kLost, but it arrives at the next land_late().
};

struct Call {
  enum class Kind { kGet, kPut, kRemove, kList };
  Kind kind;
  Key key;
  std::string body;
};

/// One process's way to shared objects, with a hook before every call. The hook runs on the loop
/// and may change the objects: that is how a test puts another writer between two calls.
class HookedStore final : public ObjectStore {
 public:
  HookedStore(Loop& loop, std::shared_ptr<MemoryObjects> objects)
      : loop_(loop), inner_(loop, std::move(objects)) {}

  std::function<Fault(const Call&)> hook;
  bool conditional_remove = true;

  /// Loop thread only.
  void land_late() {
    for (auto& write : std::exchange(late_, {})) write();
  }

  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities all = inner_.capabilities();
    all.conditional_remove = conditional_remove;
    return all;
  }
  [[nodiscard]] std::string describe() const override { return "hooked"; }

  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override {
    call<Object>({Call::Kind::kGet, key, {}}, std::move(done),
                 [=, this](Callback<Object> cb) { inner_.get(key, unless, by, std::move(cb)); });
  }
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override {
    call<Revision>(
        {Call::Kind::kPut, key, body}, std::move(done),
        [=, this](Callback<Revision> cb) { inner_.put(key, body, when, by, std::move(cb)); });
  }
  void guarded_put(Key, std::string, Precondition, Guard, Deadline,
                   Callback<Revision> done) override {
    answer<Revision>(std::move(done), {Errc::kUnsupported, "not here"});
  }
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override {
    if (when && !conditional_remove) {
      return answer<Done>(std::move(done), {Errc::kUnsupported, "not at a revision"});
    }
    call<Done>({Call::Kind::kRemove, key, {}}, std::move(done),
               [=, this](Callback<Done> cb) { inner_.remove(key, when, by, std::move(cb)); });
  }
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override {
    call<ListPage>(
        {Call::Kind::kList, prefix, {}}, std::move(done),
        [=, this](Callback<ListPage> cb) { inner_.list(prefix, from, by, std::move(cb)); });
  }

 private:
  template <typename T>
  void answer(Callback<T> done, Error error) {
    loop_.post([done = std::move(done), error = std::move(error)] { done(error); });
  }
  template <typename T>
  void call(const Call& what, Callback<T> done, std::function<void(Callback<T>)> forward) {
    switch (hook ? hook(what) : Fault::kNone) {
      case Fault::kNone:
        return forward(std::move(done));
      case Fault::kUnavailable:
        return answer<T>(std::move(done), {Errc::kUnavailable, "scripted"});
      case Fault::kConflict:
        return answer<T>(std::move(done), {Errc::kConflict, "scripted"});
      case Fault::kLate:
        late_.push_back([forward] { forward([](const Result<T>&) {}); });
        [[fallthrough]];
      case Fault::kLost:
        return answer<T>(std::move(done), {Errc::kAmbiguous, "scripted"});
      case Fault::kLanded:
        return forward([done](const Result<T>&) { done({Errc::kAmbiguous, "scripted"}); });
    }
  }

  Loop& loop_;
  MemoryStore inner_;
  std::vector<std::function<void()>> late_;
};

/// One loop, one set of objects, and any number of processes that share them.
class Stage {
 public:
  struct Process {
    Process(Loop& loop, std::shared_ptr<MemoryObjects> objects)
        : store(loop, std::move(objects)), sync(loop, store, 5s) {}
    HookedStore store;
    SyncStore sync;
  };

  Process& process() {
    processes_.push_back(std::make_unique<Process>(clock, objects_));
    return *processes_.back();
  }
  /// Touches the objects as another writer would, between two calls of the code under test.
  void with_objects(const std::function<void(MemoryObjects&)>& f) {
    thread_.run([&] { f(*objects_); });
  }
  /// For hooks, which are on the loop already.
  [[nodiscard]] MemoryObjects& objects() { return *objects_; }
  [[nodiscard]] std::string body(const Key& key) {
    std::string body;
    with_objects([&](MemoryObjects& objects) {
      if (const auto object = objects.get(key, {}, MonoTime{})) body = object->body;
    });
    return body;
  }
  void land_late(Process& process) {
    thread_.run([&] { process.store.land_late(); });
  }
  /// A term that lasts until `until`, on the stage's clock.
  [[nodiscard]] std::unique_ptr<LeaseGuard> term(std::uint64_t epoch,
                                                 MonoTime until = MonoTime(1h)) {
    return std::make_unique<LeaseGuard>(clock, Epoch(epoch), until);
  }

 private:
  std::shared_ptr<MemoryObjects> objects_ = std::make_shared<MemoryObjects>();
  std::vector<std::unique_ptr<Process>> processes_;
  LoopThread thread_;  // Ends before what it works on.

 public:
  SetClockLoop clock{thread_.loop()};
};

}  // namespace muster::stage
