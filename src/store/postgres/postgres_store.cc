#include "store/postgres/postgres_store.h"

#include <algorithm>
#include <deque>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "store/postgres/address.h"
#include "store/postgres/change_watch.h"
#include "store/postgres/client.h"
#include "store/postgres/libpq.h"
#include "store/postgres/settings.h"
#include "store/postgres/statements.h"
#include "store/remote/lineage.h"

namespace muster {
namespace {

using postgres::ChangeWatch;
using postgres::Origin;
using postgres::Rows;
using postgres::Statement;
using remote::Access;

constexpr Duration kLookTimeout = 5s;
/// Lists and ended watches that are kept, so that a watch can go on from them.
constexpr std::size_t kPastsKept = 8;
/// In front of a key, the beginning of a list's next page. No stamp of a history begins so.
constexpr char kAfter = '>';

class PostgresStore final : public ObjectStore {
 public:
  PostgresStore(const postgres::Libpq& pq, postgres::DatabaseAddress address,
                const PostgresOptions& options, EventLoop& loop)
      : address_(address.text),
        page_size_(address.page_size),
        loop_(loop),
        statements_(address.prefix),
        identity_(address_, options.stop_when_gone_back),
        client_(pq, loop, std::move(address), postgres::Client::Needs::kTable,
                {[this] { look(); },
                 [this](const std::string&, const std::string& key) { hint(key); }}) {}
  ~PostgresStore() override {
    for (const auto& watch : watches_) {
      if (const auto locked = watch.lock()) locked->close();
    }
  }

  Capabilities capabilities() const override {
    return {
        .watch = true, .guarded_put = true, .conditional_remove = true, .multi_key_order = true};
  }
  std::string describe() const override { return address_; }
  std::uint64_t history() const override { return identity_.history(); }

  void inspect(Deadline by, Callback<StoreInspection> done) override {
    send<StoreInspection>(
        postgres::inspection(), Access::kRead, by, std::move(done),
        [this](const Rows& rows) { return postgres::inspected(rows, client_.hears()); });
  }

  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override {
    if (Status good = statements_.check(key, 0); !good)
      return refuse(std::move(done), good.error());
    send<Object>(statements_.get(key, identity_.own(unless)), Access::kRead, by, std::move(done),
                 [key](const Rows& rows) { return postgres::Statements::got(key, rows); });
  }

  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override {
    write(std::move(key), std::move(body), when, std::nullopt, by, std::move(done));
  }

  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override {
    if (guard.when.kind != Precondition::Kind::kAbsent) {
      return write(std::move(key), std::move(body), when, std::move(guard), by, std::move(done));
    }
    if (Status good = statements_.check(guard.key, 0); !good) {
      return refuse(std::move(done), good.error());
    }
    // What does not exist cannot be locked, so it is given a row first, which is no object. This
    // may be done any number of times.
    send<Done>(
        statements_.keep_place(guard.key), Access::kRead, by,
        [this, key = std::move(key), body = std::move(body), when, guard, by,
         done = std::move(done)](const Status& kept) mutable {
          if (!kept) return done(kept.error());
          write(std::move(key), std::move(body), when, guard, by, std::move(done));
        },
        [](const Rows&) { return Status(Done{}); });
  }

  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override {
    if (Status good = statements_.check(key, 0); !good)
      return refuse(std::move(done), good.error());
    send<Done>(statements_.remove(key, identity_.own(when)), Access::kWrite, by, std::move(done),
               [key](const Rows& rows) { return postgres::Statements::removed(key, rows); });
  }

  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override {
    for (const std::string& text : {prefix, from}) {
      if (Status good = statements_.check(text.empty() ? "k" : text, 0); !good) {
        return refuse(std::move(done), good.error());
      }
    }
    const bool whole = from.empty();
    if (!whole && !identity_.own(from).starts_with(kAfter)) {
      return refuse(
          std::move(done),
          {Errc::kUnavailable, "the list began before the store went back in time: list again"});
    }
    const Key after = whole ? Key() : identity_.own(from).substr(1);
    send<ListPage>(statements_.list(prefix, after, page_size_), Access::kRead, by, std::move(done),
                   [this, prefix, whole](const Rows& rows) -> Result<ListPage> {
                     ListPage page = statements_.listed(rows, page_size_);
                     if (!page.next.empty()) page.next = kAfter + page.next;
                     page.cursor = std::to_string(++lists_);
                     if (whole && page.next.empty()) {
                       ChangeWatch::Known known;
                       for (const auto& each : page.objects) known.emplace(each.key, each.revision);
                       keep({identity_.history(), page.cursor, prefix, std::move(known)});
                     }
                     return page;
                   });
  }

  std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                               std::function<void(const WatchEvent&)> on_event) override {
    auto known = cursor.empty() ? std::nullopt : recall(prefix, identity_.own(cursor));
    const bool lost = !cursor.empty() && !known;
    auto watch = std::make_shared<ChangeWatch>(
        loop_, statements_,
        ChangeWatch::Deps{[this](Statement statement, Callback<Rows> done) {
                            send<Rows>(std::move(statement), Access::kRead,
                                       loop_.now() + kLookTimeout, std::move(done),
                                       [](const Rows& rows) { return Result<Rows>(rows); });
                          },
                          [this] { return identity_.history(); },
                          [this](std::string text) {
                            return remote::stamp(identity_.history(), std::move(text));
                          },
                          [this] { return client_.hears(); }},
        "w" + std::to_string(++watches_begun_) + ".", prefix, std::move(known), lost,
        std::move(on_event));
    std::erase_if(watches_, [](const auto& old) { return old.expired(); });
    watches_.push_back(watch);
    const std::string channel = statements_.channel(prefix);
    // Listened to before the first look, so that nothing is missed in between.
    client_.listen(channel);
    watch->look();
    return std::make_unique<postgres::ChangeWatchHandle>(
        watch, lifetime_.wrap([this, channel, ended = std::weak_ptr(watch)] {
          client_.unlisten(channel);
          const auto last = ended.lock();
          if (last && last->known()) {
            keep({identity_.history(), last->cursor(), last->prefix(), *last->known()});
          }
        }));
  }

 private:
  /// What a caller knew at a cursor.
  struct Past {
    std::uint64_t history;
    std::string cursor;
    std::string prefix;
    ChangeWatch::Known known;
  };

  template <typename T>
  void refuse(Callback<T> done, Error error) {
    loop_.post(lifetime_.wrap([done = std::move(done), error = std::move(error)] { done(error); }));
  }

  void write(Key key, std::string body, const Precondition& when, std::optional<Guard> guard,
             Deadline by, Callback<Revision> done) {
    Status good = statements_.check(key, body.size());
    if (good && guard) good = statements_.check(guard->key, 0);
    if (!good) return refuse(std::move(done), good.error());
    send<Revision>(
        statements_.put(key, std::move(body), identity_.own(when), identity_.own(std::move(guard))),
        Access::kWrite, by, std::move(done),
        [key](const Rows& rows) { return postgres::Statements::was_put(key, rows); });
  }

  /// Sends a statement and looks at who answered, and from when.
  template <typename T, typename Read>
  void send(Statement statement, Access access, Deadline by, Callback<T> done, Read read) {
    if (const Status status = identity_.status(); !status) {
      return refuse(std::move(done), status.error());
    }
    client_.ask(std::move(statement), access, by,
                [this, access, mark = identity_.mark(), done = std::move(done),
                 read = std::move(read)](Result<Rows> rows) mutable {
                  if (!rows) return done(rows.error());
                  const Status same = observe(*rows, mark);
                  if (!same) return done(remote::unusable(same.error(), access == Access::kWrite));
                  if constexpr (std::is_same_v<T, Rows> || std::is_same_v<T, StoreInspection>) {
                    done(read(*rows));
                  } else {
                    done(identity_.stamped(read(*rows)));
                  }
                });
  }

  Status observe(const Rows& rows, const remote::Lineage::Mark& mark) {
    const auto origin = Origin::read(rows);
    if (!origin) return origin.error();
    std::string how = "another database has its place";
    if (origin->system == origin_.system && origin->timeline != origin_.timeline) {
      how = "a standby was promoted (timeline " + std::to_string(origin_.timeline) + ", now " +
            std::to_string(origin->timeline) + "), which may not have had the last writes";
    } else if (origin->system == origin_.system) {
      how = "the table muster.objects was made anew";
    }
    const std::uint64_t before = identity_.history();
    const Status same = identity_.observe(origin->identity(), origin->revision, mark, how);
    if (same || identity_.history() != before) origin_ = *origin;
    return same;
  }

  void look() {
    for (const auto& watch : watches_) {
      if (const auto locked = watch.lock()) locked->look();
    }
  }
  void hint(const std::string& full_key) {
    const auto key = statements_.strip(full_key);
    if (!key) return;
    for (const auto& watch : watches_) {
      if (const auto locked = watch.lock()) locked->hint(*key);
    }
  }

  void keep(Past past) {
    kept_.push_back(std::move(past));
    if (kept_.size() > kPastsKept) kept_.pop_front();
  }
  [[nodiscard]] std::optional<ChangeWatch::Known> recall(const std::string& prefix,
                                                         const std::string& cursor) const {
    const auto past = std::find_if(kept_.begin(), kept_.end(), [&](const Past& each) {
      return each.history == identity_.history() && each.cursor == cursor &&
             prefix.starts_with(each.prefix);
    });
    if (past == kept_.end()) return std::nullopt;
    ChangeWatch::Known known;
    for (const auto& [key, revision] : past->known) {
      if (key.starts_with(prefix)) known.emplace(key, revision);
    }
    return known;
  }

  std::string address_;
  std::size_t page_size_;
  Loop& loop_;
  postgres::Statements statements_;
  remote::Lineage identity_;
  Origin origin_{};
  std::uint64_t lists_ = 0;
  std::uint64_t watches_begun_ = 0;
  std::deque<Past> kept_;
  std::vector<std::weak_ptr<ChangeWatch>> watches_;
  Lifetime lifetime_;
  postgres::Client client_;
};

}  // namespace

Result<std::unique_ptr<ObjectStore>> open_postgres_store(const Url& url,
                                                         const PostgresOptions& options,
                                                         EventLoop& loop) {
  auto address = postgres::DatabaseAddress::read(url, options.tls, options.tls13_only);
  if (!address) return address.error();
  const auto& pq = postgres::Libpq::load();
  if (!pq) return pq.error();
  return std::unique_ptr<ObjectStore>(
      std::make_unique<PostgresStore>(*pq, std::move(*address), options, loop));
}

}  // namespace muster
