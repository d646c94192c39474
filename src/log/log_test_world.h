#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "log/replicated_log.h"
#include "sim/world.h"
#include "store/memory/memory_store.h"

// What the tests of the log share: a state machine that remembers its commands, and replicas of it
// on one memory store, all on one simulated thread.
namespace muster::rlog {

/// The commands in the order applied, one string after another. A command "unknown" is one that
/// this version does not know.
class CommandList final : public StateMachine {
 public:
  std::vector<std::string> commands;
  std::size_t part_bytes = 16;

  Status apply(const AcceptedEntry& entry) override {
    for (const std::string_view command : entry.commands) {
      if (command == "unknown") return {Errc::kUnsupported, "an unknown command"};
      commands.emplace_back(command);
    }
    times.push_back(entry.time);
    labels.push_back(entry.wall);
    return Done{};
  }
  std::unique_ptr<SnapshotReader> snapshot() override {
    std::string image;
    for (const std::string& command : commands) image += command + "\n";
    return std::make_unique<Reader>(std::move(image), part_bytes);
  }
  std::unique_ptr<SnapshotLoader> load() override { return std::make_unique<Loader>(*this); }

  std::vector<LogTime> times;
  std::vector<WallTime> labels;

 private:
  class Reader final : public SnapshotReader {
   public:
    Reader(std::string image, std::size_t part_bytes)
        : image_(std::move(image)), part_bytes_(part_bytes) {}
    std::optional<std::string> next_part() override {
      if (at_ >= image_.size()) return {};
      std::string part = image_.substr(at_, part_bytes_);
      at_ += part.size();
      return part;
    }

   private:
    std::string image_;
    std::size_t part_bytes_;
    std::size_t at_ = 0;
  };
  class Loader final : public SnapshotLoader {
   public:
    explicit Loader(CommandList& list) : list_(list) {}
    Status part(std::string_view bytes) override {
      image_ += bytes;
      return Done{};
    }
    Status finish() override {
      list_.commands.clear();
      std::size_t from = 0;
      for (std::size_t end; (end = image_.find('\n', from)) != std::string::npos; from = end + 1) {
        list_.commands.push_back(image_.substr(from, end - from));
      }
      return Done{};
    }

   private:
    CommandList& list_;
    std::string image_;
  };
};

/// What fails, and how: shared by all who see the same store.
struct Troubles {
  std::map<Key, Error> gets;
  std::string no_puts;  ///< Under this prefix, when there is one.
  bool silent = false;  ///< Watches tell nothing.
  /// The next get or put of this key is under way until released: then it reaches the store.
  std::optional<Key> hold_get;
  std::optional<Key> hold_put;
  std::function<void()> held;

  void release() { std::exchange(held, nullptr)(); }
};

/// Another store's face with some of its abilities taken away, and with troubles.
class LesserStore final : public ObjectStore {
 public:
  LesserStore(Loop& loop, std::unique_ptr<ObjectStore> inner, Capabilities left,
              std::shared_ptr<Troubles> troubles)
      : loop_(loop), inner_(std::move(inner)), left_(left), troubles_(std::move(troubles)) {}
  [[nodiscard]] Capabilities capabilities() const override { return left_; }
  [[nodiscard]] std::string describe() const override { return inner_->describe(); }
  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override {
    if (const auto trouble = troubles_->gets.find(key); trouble != troubles_->gets.end()) {
      return loop_.post([done = std::move(done), error = trouble->second] { done(error); });
    }
    if (troubles_->hold_get == key) {
      troubles_->hold_get.reset();
      troubles_->held = [this, key, unless, by, done] { inner_->get(key, unless, by, done); };
      return;
    }
    inner_->get(std::move(key), std::move(unless), by, std::move(done));
  }
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override {
    // As the file store does: a write without a condition repairs it.
    if (when.kind == Precondition::Kind::kNone) troubles_->gets.erase(key);
    if (refuses(key)) return refuse(std::move(done));
    if (troubles_->hold_put == key) {
      troubles_->hold_put.reset();
      troubles_->held = [this, key, body, when, by, done] {
        inner_->put(key, body, when, by, done);
      };
      return;
    }
    inner_->put(std::move(key), std::move(body), std::move(when), by, std::move(done));
  }
  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override {
    if (refuses(key)) return refuse(std::move(done));
    inner_->guarded_put(std::move(key), std::move(body), std::move(when), std::move(guard), by,
                        std::move(done));
  }
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override {
    inner_->remove(std::move(key), std::move(when), by, std::move(done));
  }
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override {
    inner_->list(std::move(prefix), std::move(from), by, std::move(done));
  }
  std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                               std::function<void(const WatchEvent&)> on_event) override {
    return inner_->watch(
        std::move(prefix), std::move(cursor),
        [troubles = troubles_, on_event = std::move(on_event)](const WatchEvent& event) {
          if (!troubles->silent) on_event(event);
        });
  }

 private:
  [[nodiscard]] bool refuses(const Key& key) const {
    return !troubles_->no_puts.empty() && key.starts_with(troubles_->no_puts);
  }
  void refuse(Callback<Revision> done) {
    loop_.post([done = std::move(done)] { done({Errc::kUnavailable, "no space"}); });
  }

  Loop& loop_;
  std::unique_ptr<ObjectStore> inner_;
  Capabilities left_;
  std::shared_ptr<Troubles> troubles_;
};

/// Stores as etcd is, as one with transactions and no watch would be, and as S3 is.
enum class StoreKind { kFull, kUnwatched, kPlain };
[[nodiscard]] inline std::string name_of(const ::testing::TestParamInfo<StoreKind>& kind) {
  constexpr const char* kNames[] = {"full", "unwatched", "plain"};
  return kNames[static_cast<std::size_t>(kind.param)];
}
inline const auto kAllStores =
    ::testing::Values(StoreKind::kFull, StoreKind::kUnwatched, StoreKind::kPlain);

class LogWorld {
 public:
  explicit LogWorld(StoreKind kind) : kind_(kind) {}

  struct Replica {
    explicit Replica(LogWorld& world, Options options = {})
        : loop(world.world, 1.0, 0s), store(world.store(loop)) {
      options.create = options.log_id.empty();
      log = std::make_unique<ReplicatedLog>(
          std::move(options),
          Surroundings{loop, *store, Random(world.next_seed_++), machine,
                       [this](const Event& event) { events.push_back(event); }});
    }

    sim::Process loop;
    std::unique_ptr<ObjectStore> store;
    CommandList machine;
    std::vector<Event> events;
    std::unique_ptr<ReplicatedLog> log;

    template <typename E>
    [[nodiscard]] std::optional<E> last() const {
      for (auto it = events.rbegin(); it != events.rend(); ++it) {
        if (const E* event = std::get_if<E>(&*it)) return *event;
      }
      return {};
    }
  };

  [[nodiscard]] std::unique_ptr<ObjectStore> store(Loop& loop) { return store(loop, objects); }
  [[nodiscard]] std::unique_ptr<ObjectStore> store(Loop& loop,
                                                   std::shared_ptr<MemoryObjects> contents) const {
    auto memory = std::make_unique<MemoryStore>(loop, std::move(contents));
    Capabilities left = memory->capabilities();
    if (kind_ != StoreKind::kFull) left = {.guarded_put = kind_ == StoreKind::kUnwatched};
    return std::make_unique<LesserStore>(loop, std::move(memory), left, troubles);
  }
  std::unique_ptr<Replica> replica(Options options = {}) {
    return std::make_unique<Replica>(*this, std::move(options));
  }
  /// One that is open; `options` as given.
  std::unique_ptr<Replica> opened(Options options = {}) {
    auto made = replica(std::move(options));
    EXPECT_TRUE(open(*made).ok());
    return made;
  }
  std::unique_ptr<Replica> leader(std::uint64_t epoch, Options options = {}) {
    auto made = opened(std::move(options));
    EXPECT_TRUE(lead(*made, epoch).ok());
    return made;
  }

  /// Runs until `done` was called, a simulated minute at most.
  template <typename T>
  Result<T> await(const std::function<void(Callback<T>)>& call) {
    auto answer = std::make_shared<std::optional<Result<T>>>();
    call([answer](Result<T> result) { answer->emplace(std::move(result)); });
    const auto end = world.now() + 60s;
    if (!answer->has_value()) world.run(end, [&] { return !answer->has_value(); });
    if (!answer->has_value()) return {Errc::kCancelled, "no answer"};
    return std::move(**answer);
  }
  Status open(Replica& replica) {
    return await<Done>([&](Callback<Done> done) { replica.log->open(std::move(done)); });
  }
  Status lead(Replica& replica, std::uint64_t epoch, const std::string& incarnation = "") {
    const std::string name = incarnation.empty() ? "run-" + std::to_string(epoch) : incarnation;
    return await<Done>([&](Callback<Done> done) {
      replica.log->lead(Epoch(epoch), Incarnation(name), std::move(done));
    });
  }
  Result<Ack> append(Replica& replica, const std::string& command) {
    return await<Ack>([&](Callback<Ack> done) { replica.log->append(command, std::move(done)); });
  }
  Result<Index> barrier(Replica& replica) {
    return await<Index>([&](Callback<Index> done) { replica.log->read_barrier(std::move(done)); });
  }
  Result<Index> seal(Replica& replica, const Seal& seal) {
    return await<Index>([&](Callback<Index> done) { replica.log->seal(seal, std::move(done)); });
  }
  Result<Index> compact(Replica& replica) {
    return await<Index>([&](Callback<Index> done) { replica.log->compact(std::move(done)); });
  }
  void refuse_puts(const std::string& prefix) { troubles->no_puts = prefix; }
  void run(Duration time) { world.run(world.now() + time); }

  sim::World world{1};
  std::shared_ptr<MemoryObjects> objects = std::make_shared<MemoryObjects>();
  std::shared_ptr<Troubles> troubles = std::make_shared<Troubles>();

 private:
  StoreKind kind_;
  std::uint64_t next_seed_ = 1;
};

}  // namespace muster::rlog
