#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "elector/sync_store.h"
#include "platform/event_loop.h"
#include "store/memory/memory_store.h"

/// For tests of what stands on a SyncStore: a clock that is told the time, and processes whose way
/// to a shared store fails as scripted or ends at a chosen call.
namespace muster::testing {

class FakeClock final : public Clock {
 public:
  [[nodiscard]] MonoTime now() const override { return MonoTime(Duration(now_ns_.load())); }
  [[nodiscard]] WallTime wall_now() const override {
    return wall_from_ms(1'700'000'000'000 + to_ms(Duration(now_ns_.load())));
  }
  void advance(Duration d) { now_ns_ += d.count(); }

 private:
  std::atomic<Duration::rep> now_ns_{Duration(1h).count()};
};

/// What becomes of one call.
enum class Fault {
  kNone,
  kUnavailable,  ///< No effect, and the caller knows.
  kRequestLost,  ///< No effect; a write is ambiguous.
  kReplyLost,    ///< Takes effect; a write is ambiguous.
  kResent,       ///< A write lands, and its unseen second copy is answered with a conflict.
  kThrottled,    ///< A write lands, and its unseen second copy is refused for now.
  kLate,         ///< Ambiguous, and lands when the test says so.
  kDead,         ///< The process is gone: neither effect nor answer that anyone would hear.
};

/// One process's way to the objects that several share.
class ScriptedStore final : public ObjectStore {
 public:
  /// Told how many calls came before and whether this one writes.
  using Script = std::function<Fault(std::uint64_t call, bool writes)>;

  ScriptedStore(Loop& loop, std::shared_ptr<MemoryObjects> objects)
      : loop_(loop), store_(loop, std::move(objects)) {}

  Script script;
  bool conditional_remove = true;
  std::string refused;     ///< What is put under a key that holds this is too large.
  std::string unreadable;  ///< Keys that hold this cannot be read.
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  /// The writes that were kLate land, in the order in which they were sent.
  void land_late() {
    for (auto& effect : std::exchange(late_, {})) effect();
  }

  [[nodiscard]] Capabilities capabilities() const override {
    Capabilities can = store_.capabilities();
    can.conditional_remove = conditional_remove;
    return can;
  }
  [[nodiscard]] std::string describe() const override { return "scripted store"; }
  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override {
    if (!unreadable.empty() && key.find(unreadable) != key.npos) {
      return answer<Object>(std::move(done), {Errc::kUnavailable, "cannot be read now"});
    }
    call<Object>(false, std::move(done),
                 [=, this](auto next) { store_.get(key, unless, by, std::move(next)); });
  }
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override {
    if (!refused.empty() && key.find(refused) != key.npos) {
      return answer<Revision>(std::move(done), {Errc::kInvalid, "the body is too large"});
    }
    call<Revision>(true, std::move(done),
                   [=, this](auto next) { store_.put(key, body, when, by, std::move(next)); });
  }
  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override {
    call<Revision>(true, std::move(done), [=, this](auto next) {
      store_.guarded_put(key, body, when, guard, by, std::move(next));
    });
  }
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override {
    if (when && !conditional_remove) {
      return answer<Done>(std::move(done), {Errc::kUnsupported, "no conditional remove"});
    }
    call<Done>(true, std::move(done),
               [=, this](auto next) { store_.remove(key, when, by, std::move(next)); });
  }
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override {
    call<ListPage>(false, std::move(done),
                   [=, this](auto next) { store_.list(prefix, from, by, std::move(next)); });
  }

 private:
  template <typename T>
  void answer(Callback<T> done, Error error) {
    loop_.post([done = std::move(done), error = std::move(error)] { done(error); });
  }

  template <typename T>
  void call(bool writes, Callback<T> done, std::function<void(Callback<T>)> effect) {
    const Fault fault = script ? script(calls_, writes) : Fault::kNone;
    ++calls_;
    const Error unanswered{writes ? Errc::kAmbiguous : Errc::kUnavailable, "no answer"};
    const auto with = [done](Error error) {
      return [done, error = std::move(error)](const Result<T>&) { done(error); };
    };
    switch (fault) {
      case Fault::kNone:
        return effect(std::move(done));
      case Fault::kUnavailable:
        return answer(std::move(done), {Errc::kUnavailable, "not reachable"});
      case Fault::kRequestLost:
        return answer(std::move(done), unanswered);
      case Fault::kReplyLost:
        return effect(with(unanswered));
      case Fault::kResent:
        return effect(with(writes ? Error{Errc::kConflict, "precondition failed"} : unanswered));
      case Fault::kThrottled:
        return effect(with(writes ? Error{Errc::kThrottled, "slow down"} : unanswered));
      case Fault::kLate:
        if (writes) late_.push_back([effect] { effect([](const Result<T>&) {}); });
        return answer(std::move(done), unanswered);
      case Fault::kDead:
        return answer(std::move(done), {Errc::kCancelled, "the process is gone"});
    }
  }

  Loop& loop_;
  MemoryStore store_;
  std::uint64_t calls_ = 0;
  std::vector<std::function<void()>> late_;
};

/// What all processes of a test share.
struct SharedWorld {
  LoopThread thread;
  FakeClock clock;
  std::shared_ptr<MemoryObjects> objects = std::make_shared<MemoryObjects>();

  /// How many objects there are under a prefix.
  [[nodiscard]] std::size_t count(const std::string& prefix) {
    std::size_t found = 0;
    thread.run([&] {
      for (const auto& [key, entry] : objects->entries()) found += key.starts_with(prefix) ? 1 : 0;
    });
    return found;
  }
};

/// One process of a test: its own way to the store.
class TestProcess {
 public:
  explicit TestProcess(SharedWorld& world)
      : world_(world),
        scripted_(std::make_unique<ScriptedStore>(world.thread.loop(), world.objects)),
        store_(world.thread.loop(), *scripted_, 10s) {}
  ~TestProcess() {
    // Stores belong to their loop's thread.
    world_.thread.run([this] { scripted_.reset(); });
  }
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  [[nodiscard]] SyncStore& store() { return store_; }
  [[nodiscard]] ScriptedStore& scripted() { return *scripted_; }
  void set_script(ScriptedStore::Script script) {
    world_.thread.run([&] { scripted_->script = std::move(script); });
  }
  [[nodiscard]] std::uint64_t calls() {
    std::uint64_t calls = 0;
    world_.thread.run([&] { calls = scripted_->calls(); });
    return calls;
  }
  void land_late() {
    world_.thread.run([this] { scripted_->land_late(); });
  }
  /// From call `at` on the process is gone; with `after` that call still takes effect.
  void crash_at(std::uint64_t at, bool after) {
    set_script([=](std::uint64_t call, bool) {
      if (call < at) return Fault::kNone;
      return call == at && after ? Fault::kReplyLost : Fault::kDead;
    });
  }

 private:
  SharedWorld& world_;
  std::unique_ptr<ScriptedStore> scripted_;
  SyncStore store_;
};

}  // namespace muster::testing
