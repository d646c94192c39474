#include "store/muster/muster_store.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "store/muster/client.h"
#include "store/muster/requests.h"
#include "store/muster/watch_stream.h"
#include "store/remote/endpoint.h"
#include "store/remote/lineage.h"

namespace muster {
namespace {

using remote::Access;

constexpr Duration kMusterRevisionTimeout = 5s;

class MusterStore final : public ObjectStore {
 public:
  MusterStore(const Url& url, const MusterStoreOptions& options, remote::ClientOptions client,
              EventLoop& loop)
      : options_(options),
        address_(url.redacted()),
        loop_(loop),
        requests_(url.path),
        identity_(address_, options.stop_when_gone_back),
        client_(std::move(client), loop) {}
  ~MusterStore() override {
    for (const auto& watch : watches_) {
      if (const auto stream = watch.lock()) stream->close();
    }
  }

  Capabilities capabilities() const override {
    return {
        .watch = true, .guarded_put = true, .conditional_remove = true, .multi_key_order = true};
  }
  std::string describe() const override { return address_; }
  std::uint64_t history() const override { return identity_.history(); }

  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override {
    auto request = requests_.get(key, identity_.own(unless));
    send<v1::StoreGetResponse>("Get", request, Access::kRead, by, std::move(done),
                               [key](v1::StoreGetResponse response) {
                                 return musterd::Requests::got(key, std::move(response));
                               });
  }

  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override {
    write(requests_.put(key, std::move(body), identity_.own(when), std::nullopt), by,
          std::move(done));
  }
  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override {
    write(requests_.put(key, std::move(body), identity_.own(when), identity_.own(guard)), by,
          std::move(done));
  }

  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override {
    send<v1::StoreRemoveResponse>(
        "Remove", requests_.remove(key, identity_.own(when)), Access::kWrite, by, std::move(done),
        [this, mark = identity_.mark()](const v1::StoreRemoveResponse& response) -> Status {
          return observe(response.revision(), mark, Access::kWrite);
        });
  }

  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override {
    if (identity_.own(from).empty() != from.empty()) {
      return refuse(
          std::move(done),
          {Errc::kUnavailable, "the list began before the store went back in time: list again"});
    }
    from = identity_.own(from);
    send<v1::StoreListResponse>("List", requests_.list(prefix, from, options_.page_size),
                                Access::kRead, by, std::move(done),
                                [this, from, mark = identity_.mark()](
                                    const v1::StoreListResponse& response) -> Result<ListPage> {
                                  Status same = observe(response.revision(), mark, Access::kRead);
                                  if (!same) return same.error();
                                  return requests_.listed(from, response);
                                });
  }

  std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                               std::function<void(const WatchEvent&)> on_event) override {
    musterd::WatchStream::Setup setup{"musterd", std::move(prefix), {}, false, std::move(on_event)};
    setup.resume(cursor);
    auto stream = std::make_shared<musterd::WatchStream>(
        client_, requests_, loop_,
        [this](Mark after, bool hold, Callback<Mark> done) {
          find_revision(after, hold, std::move(done));
        },
        std::move(setup));
    std::erase_if(watches_, [](const auto& old) { return old.expired(); });
    watches_.push_back(stream);
    stream->open();
    return std::make_unique<remote::WatchHandle>(std::move(stream));
  }

 private:
  using Mark = remote::Lineage::Mark;

  void write(Result<v1::StorePutRequest> request, Deadline by, Callback<Revision> done) {
    send<v1::StorePutResponse>(
        "Put", request, Access::kWrite, by, std::move(done),
        [this, mark = identity_.mark()](const v1::StorePutResponse& response) -> Result<Revision> {
          Status same = observe(response.revision(), mark, Access::kWrite);
          if (!same) return same.error();
          return Revision(std::to_string(response.revision()));
        });
  }

  /// Sends what could be made a request, and gives `done` what `read` makes of the answer.
  template <typename Response, typename Request, typename T, typename Read>
  void send(const std::string& method, const Result<Request>& request, Access access, Deadline by,
            Callback<T> done, Read read) {
    if (!request) return refuse(std::move(done), request.error());
    if (Status status = identity_.status(); !status) {
      return refuse(std::move(done), status.error());
    }
    client_.unary<Response>(
        "/muster.v1.StoreService/" + method, *request, access, by,
        [this, writes = access == Access::kWrite, history = identity_.history(),
         done = std::move(done), read = std::move(read)](Result<Response> response) {
          if (!response) return done(response.error());
          auto answer = read(std::move(*response));
          // Not every answer says where the store is. One to a question of an earlier history does
          // not count, whatever it says.
          if (answer && history != identity_.history()) {
            return done(remote::unusable(
                {Errc::kUnavailable, address_ + " has gone back in time: send the request again"},
                writes));
          }
          done(stamped(std::move(answer)));
        });
  }

  template <typename T>
  void refuse(Callback<T> done, Error error) {
    loop_.post(lifetime_.wrap([done = std::move(done), error = std::move(error)] { done(error); }));
  }

  /// `mark` is what identity_.mark() was when the request was sent.
  Status observe(std::uint64_t revision, const Mark& mark, Access access) {
    Status same = identity_.observe(0, musterd::Requests::position(revision), mark);
    if (same) return same;
    return remote::unusable(same.error(), access == Access::kWrite);
  }

  template <typename T>
  Result<T> stamped(Result<T> answer) const {
    if constexpr (std::is_same_v<T, Mark>) {
      return answer;
    } else {
      return identity_.stamped(std::move(answer));
    }
  }

  void find_revision(Mark after, bool hold, Callback<Mark> done) {
    if (hold) client_.hold();
    Mark mark = identity_.mark();
    if (after.history == mark.history) mark.floor = std::max(mark.floor, after.floor);
    send<v1::StoreListResponse>(
        "List", Result(requests_.revision()), Access::kReadAhead,
        loop_.now() + kMusterRevisionTimeout,
        Callback<Mark>([this, hold, done = std::move(done)](Result<Mark> found) {
          if (hold) client_.release();
          done(std::move(found));
        }),
        [this, mark](const v1::StoreListResponse& response) -> Result<Mark> {
          Status same = observe(response.revision(), mark, Access::kRead);
          if (!same) return same.error();
          return Mark{identity_.history(), musterd::Requests::position(response.revision())};
        });
  }

  MusterStoreOptions options_;
  std::string address_;
  Loop& loop_;
  musterd::Requests requests_;
  remote::Lineage identity_;
  std::vector<std::weak_ptr<musterd::WatchStream>> watches_;
  Lifetime lifetime_;
  musterd::Client client_;
};

}  // namespace

Result<std::unique_ptr<ObjectStore>> open_muster_store(const Url& url,
                                                       const MusterStoreOptions& options,
                                                       EventLoop& loop) {
  if (url.scheme != "muster") {
    return {Errc::kInvalid, url.redacted() + " is not a muster:// address"};
  }
  if (url.hosts.empty()) {
    return {Errc::kInvalid, "a muster address names its servers: muster://host:9000/prefix"};
  }
  if (!url.query.empty()) {
    return {Errc::kInvalid, "a muster address has no option " + url.query.begin()->first};
  }
  if (!url.user.empty() || !url.password.empty()) {
    return {Errc::kInvalid, "musterd authenticates clients by certificates, not by passwords"};
  }
  auto endpoints = remote::with_ports(url.hosts, "9000");
  if (!endpoints) return endpoints.error();
  auto tls = remote::client_tls(options.tls, /*tls12=*/false);
  if (!tls) return tls.error();
  remote::ClientOptions client{"musterd", std::move(*endpoints), std::move(*tls),
                               options.attempt_timeout};
  return std::unique_ptr<ObjectStore>(
      std::make_unique<MusterStore>(url, options, std::move(client), loop));
}

}  // namespace muster
