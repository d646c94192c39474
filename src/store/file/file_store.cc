#include "store/file/file_store.h"

#include <array>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "store/file/directory.h"
#include "store/file/worker.h"

namespace muster {
namespace {

/// Several times as long as a process may hold the lock while others wait for it.
constexpr Duration kTurnMax = 200ms;

using file::Directory;
using file::Position;
using file::Worker;

class FileWatch final : public Watch {
 public:
  FileWatch(Loop& loop, const std::shared_ptr<Worker>& worker, std::string prefix, Position since,
            std::function<void(const WatchEvent&)> on_event)
      : worker_(worker),
        on_event_(
            std::make_shared<const std::function<void(const WatchEvent&)>>(std::move(on_event))) {
    // Wrapped here, on the loop's thread; the worker's thread only copies and posts.
    auto announce = lifetime_.wrap([this](const WatchEvent& event) {
      if (worker_.expired()) return;
      // The callback may destroy this watch, so it must not be a member that it runs in.
      const auto callback = on_event_;
      (*callback)(event);
    });
    auto next = lifetime_.wrap([this] {
      if (const auto alive = worker_.lock()) alive->delivered(id_);
    });
    id_ = worker->add_watcher(
        std::move(prefix), since, [&loop, announce, next](std::vector<WatchEvent> events) {
          for (WatchEvent& event : events) {
            loop.post([announce, event = std::move(event)]() mutable { announce(event); });
          }
          loop.post(next);
        });
  }
  ~FileWatch() override {
    if (const auto alive = worker_.lock()) alive->remove_watcher(id_);
  }

 private:
  std::weak_ptr<Worker> worker_;
  std::shared_ptr<const std::function<void(const WatchEvent&)>> on_event_;
  std::uint64_t id_ = 0;
  Lifetime lifetime_;
};

class FileStoreImpl final : public FileStore {
 public:
  FileStoreImpl(const Url& url, Loop& loop, std::unique_ptr<Directory> directory)
      : address_(url.redacted()),
        path_(url.path),
        loop_(loop),
        directory_(std::move(directory)),
        worker_(std::make_shared<Worker>(*directory_)) {
    // What a killed writer left is removed now rather than by the next write.
    [[maybe_unused]] const auto sweep =
        worker_->submit(true, [d = directory_.get()](const Status& ready) {
          if (const Status swept = ready ? d->sweep() : ready; !swept) {
            log_warn("cannot clean up the store", {{"error", swept.error().message}});
          }
        });
  }
  ~FileStoreImpl() override {
    // The thread ends first: until then it may post completions, which then find nobody.
    worker_.reset();
    for (const auto& [id, call] : calls_) loop_.cancel(call->timer);
  }

  [[nodiscard]] Capabilities capabilities() const override {
    return {
        .watch = true, .guarded_put = true, .conditional_remove = true, .multi_key_order = true};
  }
  [[nodiscard]] std::string describe() const override {
    if (directory_->foreign().empty()) return address_;
    return address_ + " (on " + directory_->foreign() + ": safe among processes of this host only)";
  }
  [[nodiscard]] FileStoreStats stats() const override { return {directory_->syncs()}; }

  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override {
    call<Object>(Kind::kGet, by, std::move(done),
                 [d = directory_.get(), key = std::move(key), unless = std::move(unless)] {
                   return d->get(key, unless);
                 });
  }
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override {
    write(std::move(key), std::move(body), std::move(when), {}, by, std::move(done));
  }
  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override {
    write(std::move(key), std::move(body), std::move(when), std::move(guard), by, std::move(done));
  }
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override {
    call<Done>(Kind::kWrite, by, std::move(done),
               [d = directory_.get(), key = std::move(key), when = std::move(when)] {
                 return d->remove(key, when);
               });
  }
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override {
    call<ListPage>(Kind::kList, by, std::move(done),
                   [d = directory_.get(), prefix = std::move(prefix), from = std::move(from)] {
                     return d->list(prefix, from);
                   });
  }
  std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                               std::function<void(const WatchEvent&)> on_event) override {
    // "From now on" is settled before this returns. A cursor that is none of ours names a
    // generation that does not exist, and so ends in a reset.
    const Position since = cursor.empty()
                               ? directory_->settled_position()
                               : Position::parse(cursor).value_or(Position{UINT64_MAX, 0});
    return std::make_unique<FileWatch>(loop_, worker_, std::move(prefix), since,
                                       std::move(on_event));
  }

 private:
  /// A list takes the lock so that a page shows one moment, a get does not need to.
  enum class Kind { kGet, kList, kWrite };

  /// A call under way. The callback stays on the loop's thread; the worker knows the id only.
  struct Call {
    virtual ~Call() = default;
    virtual void fail(Error error) = 0;
    Kind kind = Kind::kGet;
    Worker::JobId job = 0;
    Loop::TimerId timer = 0;
  };
  template <typename T>
  struct CallOf final : Call {
    explicit CallOf(Callback<T> d) : done(std::move(d)) {}
    void fail(Error error) override { done(std::move(error)); }
    Callback<T> done;
  };

  void write(Key key, std::string body, Precondition when, std::optional<Guard> guard, Deadline by,
             Callback<Revision> done) {
    call<Revision>(
        Kind::kWrite, by, std::move(done),
        [d = directory_.get(), key = std::move(key), body = std::move(body), when = std::move(when),
         guard = std::move(guard)] { return d->put(key, body, when, guard); });
  }

  template <typename T, typename Work>
  void call(Kind kind, Deadline by, Callback<T> done, Work work) {
    if (by <= loop_.now()) {
      return refuse(std::move(done), {Errc::kUnavailable, "the deadline had already passed"});
    }
    const std::uint64_t id = next_call_++;
    auto finish = lifetime_.wrap([this, id](Result<T> result) {
      auto node = calls_.extract(id);
      if (node.empty()) return;  // Its deadline came first.
      loop_.cancel(node.mapped()->timer);
      static_cast<CallOf<T>&>(*node.mapped()).done(std::move(result));
    });
    const auto job = worker_->submit(
        kind != Kind::kGet,
        [&loop = loop_, finish, work = std::move(work)](const Status& ready) mutable {
          Result<T> result = ready ? Result<T>(work()) : Result<T>(ready.error());
          loop.post([finish, result = std::move(result)]() mutable { finish(std::move(result)); });
        });
    if (!job) {
      return refuse(std::move(done), {Errc::kThrottled, "too many calls of " + address_ +
                                                            " are under way; wait for some"});
    }
    auto entry = std::make_unique<CallOf<T>>(std::move(done));
    entry->kind = kind;
    entry->job = *job;
    if (by != Deadline::max()) entry->timer = loop_.at(by, [this, id] { expire(id); });
    calls_.emplace(id, std::move(entry));
  }

  template <typename T>
  void refuse(Callback<T> done, Error error) {
    loop_.post(lifetime_.wrap([done = std::move(done), error = std::move(error)] { done(error); }));
  }

  void expire(std::uint64_t id) {
    auto node = calls_.extract(id);
    if (node.empty()) return;
    Call& call = *node.mapped();
    if (!worker_->withdraw(call.job)) {
      const bool wrote = call.kind == Kind::kWrite;
      return call.fail({wrote ? Errc::kAmbiguous : Errc::kUnavailable,
                        "the disk under " + path_ + " did not answer in time"});
    }
    const auto holder = call.kind == Kind::kGet ? std::nullopt : worker_->blocked_by();
    if (!holder) {
      return call.fail({Errc::kUnavailable, "the disk under " + path_ +
                                                " was too busy to start the request in "
                                                "time"});
    }
    // Seen for less than that, it may be one of many that take turns.
    if (loop_.now() - holder->since < kTurnMax) {
      return call.fail({Errc::kUnavailable,
                        "processes take turns to write to " + path_ +
                            ", and the turn of this request did not come in time; a longer lease "
                            "leaves more time"});
    }
    const int pid = holder->holder;
    const std::string who = pid == 0 ? "another program" : "process " + std::to_string(pid);
    call.fail({Errc::kUnavailable, who + " holds the lock of " + path_ +
                                       "; check whether that process is stopped, or "
                                       "its disk hangs"});
  }

  const std::string address_;
  const std::string path_;
  Loop& loop_;
  const std::unique_ptr<Directory> directory_;
  std::shared_ptr<Worker> worker_;
  std::uint64_t next_call_ = 1;
  std::unordered_map<std::uint64_t, std::unique_ptr<Call>> calls_;
  Lifetime lifetime_;
};

Result<Directory::Options> options_of(const Url& url) {
  static const std::array<std::string, 2> kKnown{"page", "sync"};
  Directory::Options options;
  for (const auto& [name, value] : url.query) {
    if (name == "sync") {
      const auto sync = parse_bool(value);
      if (!sync) return {Errc::kInvalid, "the option sync of a file store is on or off"};
      options.sync = *sync;
    } else if (name == "page") {
      const auto page = parse_unsigned(value);
      if (!page || *page == 0 || *page > 100'000) {
        return {Errc::kInvalid, "the option page of a file store is a number from 1 to 100000"};
      }
      options.page_size = *page;
    } else {
      const std::string near = nearest(name, kKnown);
      return {Errc::kInvalid,
              "a file store has no option \"" + name + "\"; " +
                  (near.empty() ? "known are page and sync" : "did you mean \"" + near + "\"?")};
    }
  }
  return options;
}

}  // namespace

Result<std::unique_ptr<FileStore>> open_file_store(const Url& url, Loop& loop) {
  if (!url.hosts.empty() || !url.user.empty() || url.path.empty()) {
    return {Errc::kInvalid,
            "a file store is a directory of this host: write file:///path, with three slashes"};
  }
  const auto options = options_of(url);
  if (!options) return options.error();
  auto directory = Directory::open(url.path, *options);
  if (!directory) return directory.error();
  if (const std::string& foreign = (*directory)->foreign(); !foreign.empty()) {
    log_warn("this store is safe among the processes of one host only",
             {{"directory", url.path}, {"file_system", foreign}});
  }
  return std::unique_ptr<FileStore>(
      std::make_unique<FileStoreImpl>(url, loop, std::move(*directory)));
}

}  // namespace muster
