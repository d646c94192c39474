#include "store/etcd/etcd_store.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "store/etcd/address.h"
#include "store/etcd/client.h"
#include "store/etcd/requests.h"
#include "store/etcd/watch_stream.h"
#include "store/remote/lineage.h"

namespace muster {
namespace {

using etcdserverpb::TxnRequest;
using etcdserverpb::TxnResponse;
using remote::Access;

constexpr Duration kEtcdRevisionTimeout = 5s;
/// What etcd adds to a request before it measures it: an id, the user's name, lengths.
constexpr std::size_t kEnvelopeBytes = 256;

class EtcdStore final : public ObjectStore {
 public:
  EtcdStore(const Url& url, const EtcdOptions& options, const etcd::ClientOptions& client,
            EventLoop& loop)
      : options_(options),
        address_(url.redacted()),
        loop_(loop),
        requests_(url.path),
        identity_(address_, options.stop_when_gone_back),
        client_(client, loop) {}
  ~EtcdStore() override {
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
    if (key.empty()) return refuse(std::move(done), no_key());
    const TxnRequest txn = requests_.get(key, identity_.own(unless));
    send<Object>(txn, Access::kRead, by, std::move(done), [this, key](TxnResponse response) {
      return requests_.got(key, std::move(response));
    });
  }

  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override {
    write(std::move(key), std::move(body), when, std::nullopt, by, std::move(done));
  }
  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override {
    write(std::move(key), std::move(body), when, std::move(guard), by, std::move(done));
  }

  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override {
    if (key.empty()) return refuse(std::move(done), no_key());
    const TxnRequest txn = requests_.remove(key, identity_.own(when));
    send<Done>(txn, Access::kWrite, by, std::move(done), [this, key](const TxnResponse& response) {
      return requests_.removed(key, response);
    });
  }

  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override {
    if (identity_.own(from).empty() != from.empty()) return refuse(std::move(done), began_before());
    from = identity_.own(from);
    const auto txn = requests_.list(prefix, from, static_cast<std::int64_t>(options_.page_size));
    if (!txn) return refuse(std::move(done), txn.error());
    send<ListPage>(*txn, Access::kRead, by, std::move(done),
                   [this, from](const TxnResponse& response) -> Result<ListPage> {
                     return requests_.listed(from, response);
                   });
  }

  std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                               std::function<void(const WatchEvent&)> on_event) override {
    etcd::WatchStream::Setup setup{"etcd", std::move(prefix), {}, false, std::move(on_event)};
    setup.resume(cursor);
    auto stream = std::make_shared<etcd::WatchStream>(
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

  static Error no_key() { return {Errc::kInvalid, "an object needs a key that is not empty"}; }
  static Error began_before() {
    return {Errc::kUnavailable, "the list began before the store went back in time: list again"};
  }

  template <typename T>
  void refuse(Callback<T> done, Error error) {
    loop_.post(lifetime_.wrap([done = std::move(done), error = std::move(error)] { done(error); }));
  }

  void write(Key key, std::string body, const Precondition& when, std::optional<Guard> guard,
             Deadline by, Callback<Revision> done) {
    if (key.empty()) return refuse(std::move(done), no_key());
    const auto txn = requests_.put(key, std::move(body), identity_.own(when), identity_.own(guard));
    if (!txn) return refuse(std::move(done), txn.error());
    send<Revision>(
        *txn, Access::kWrite, by, std::move(done),
        [this, key](const TxnResponse& response) { return requests_.was_put(key, response); });
  }

  template <typename T, typename Read>
  void send(const TxnRequest& txn, Access access, Deadline by, Callback<T> done, Read read) {
    if (const Status status = identity_.status(); !status) {
      return refuse(std::move(done), status.error());
    }
    if (txn.ByteSizeLong() + kEnvelopeBytes > options_.request_bytes_max) {
      return refuse(std::move(done),
                    {Errc::kInvalid, "the object is over etcd's limit of " +
                                         std::to_string(options_.request_bytes_max) +
                                         " bytes for a request"});
    }
    ask(txn, access, identity_.mark(), by,
        [this, done = std::move(done), read = std::move(read)](Result<TxnResponse> response) {
          if (!response) return done(response.error());
          done(identity_.stamped(read(std::move(*response))));
        });
  }

  void find_revision(Mark after, bool hold, Callback<Mark> done) {
    if (const Status status = identity_.status(); !status) {
      return refuse(std::move(done), status.error());
    }
    if (hold) client_.hold();
    Mark mark = identity_.mark();
    if (after.history == mark.history) mark.floor = std::max(mark.floor, after.floor);
    ask(requests_.revision(), Access::kReadAhead, mark, loop_.now() + kEtcdRevisionTimeout,
        [this, hold, done = std::move(done)](Result<TxnResponse> response) {
          if (hold) client_.release();
          if (!response) return done(response.error());
          done(Mark{identity_.history(), response->header().revision()});
        });
  }

  /// Sends a transaction and looks at who answered, and from when: not before `mark`.
  void ask(const TxnRequest& txn, Access access, Mark mark, Deadline by,
           Callback<TxnResponse> done) {
    const bool logged = etcd::Requests::goes_through_log(txn);
    client_.unary<TxnResponse>("/etcdserverpb.KV/Txn", txn, access, by,
                               [this, again = logged ? TxnRequest() : txn, logged, access, mark, by,
                                done = std::move(done)](Result<TxnResponse> response) mutable {
                                 if (!response) return done(response.error());
                                 const auto& header = response->header();
                                 if (!logged && header.revision() < mark.floor) {
                                   // A leader that was paused may answer a read from the past once,
                                   // which is no reason to give the store up. What its log says is.
                                   etcd::Requests::read_through_log(again);
                                   return ask(again, access, mark, by, std::move(done));
                                 }
                                 Status same = identity_.observe(header.cluster_id(),
                                                                 header.revision(), mark);
                                 if (same) return done(std::move(response));
                                 done(remote::unusable(same.error(), access == Access::kWrite));
                               });
  }

  EtcdOptions options_;
  std::string address_;
  Loop& loop_;
  etcd::Requests requests_;
  remote::Lineage identity_;
  std::vector<std::weak_ptr<etcd::WatchStream>> watches_;
  Lifetime lifetime_;
  etcd::Client client_;
};

}  // namespace

Result<std::unique_ptr<ObjectStore>> open_etcd_store(const Url& url, const EtcdOptions& options,
                                                     EventLoop& loop) {
  auto address = etcd::Address::read(url);
  if (!address) return address.error();
  // Who names files in the address means those and no others: a mixture would be nobody's.
  auto tls = remote::client_tls(address->names_files() ? address->tls : options.tls,
                                /*tls12=*/!options.tls13_only);
  if (!tls) return tls.error();
  etcd::ClientOptions client;
  client.endpoints = std::move(address->endpoints);
  client.tls = std::move(*tls);
  client.attempt_timeout = options.attempt_timeout;
  client.user = url.user;
  client.password = url.password;
  return std::unique_ptr<ObjectStore>(std::make_unique<EtcdStore>(url, options, client, loop));
}

}  // namespace muster
