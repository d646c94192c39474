#include "api/connection.h"

#include <future>
#include <utility>

#include "api/store_schemes.h"
#include "platform/doorbell.h"
#include "platform/system_clock.h"
#include "store/open/open.h"

namespace muster::api {
namespace {

constexpr Duration kStoreTimeout = 5s;

}  // namespace

Connection::Connection() : probe_random_(system_random()) {}

Connection::~Connection() {
  if (store_) loop_.run([this] { store_.reset(); });
}

void Connection::end(Connection* connection) {
  if (connection->callbacks_.here() || connection->loop_.on_thread()) {
    end_elsewhere([connection] { delete connection; });
  } else {
    delete connection;
  }
}

pub::Result<pub::Arbiter> Connection::open(const std::string& url, const pub::Tls& tls) {
  quiet_log();
  // The program's own code may block and start threads, so it opens its store before there is a
  // loop.
  const auto own = open_registered(url, tls);
  if (own && !*own) return to_public(own->error());
  const SignalsBlocked blocked;
  std::shared_ptr<Connection> connection(new Connection(), &Connection::end);
  Status opened = Done{};
  connection->whose_ = own ? ProbedStore::kOfProgram : ProbedStore::kBuiltIn;
  connection->loop_.run([&] {
    StoreOptions options;
    options.tls = {tls.ca_file, tls.cert_file, tls.key_file};
    auto store = own ? Result<std::unique_ptr<ObjectStore>>((*own)->on(connection->loop()))
                     : open_store(url, connection->loop(), options);
    if (!store) {
      opened = store.error();
      return;
    }
    connection->store_ = std::move(*store);
    connection->address_ = connection->store_->describe();
  });
  if (!opened) return to_public(opened.error());
  connection->sync_store_ =
      std::make_unique<SyncStore>(connection->loop(), *connection->store_, kStoreTimeout);
  return pub::Arbiter(std::move(connection));
}

void Connection::probe(Duration per_call, Callback<Done> done) {
  if (found_safe_) return done(Done{});
  probe_store(
      *store_, loop(), probe_random_, probe_time(per_call),
      [this, done = std::move(done)](Status safe) {
        found_safe_ = found_safe_ || safe.ok();
        done(std::move(safe));
      },
      whose_);
}

}  // namespace muster::api

MUSTER_BEGIN_NAMESPACE

Arbiter::Arbiter(std::shared_ptr<muster::api::Connection> connection)
    : connection_(std::move(connection)) {}
Arbiter::Arbiter(const Arbiter&) = default;
Arbiter& Arbiter::operator=(const Arbiter&) = default;
Arbiter::~Arbiter() = default;

Result<Arbiter> Arbiter::open(const std::string& url, const Tls& tls) {
  return api::Connection::open(url, tls);
}

Status Arbiter::probe() const {
  std::promise<muster::Status> answered;
  connection_->loop().post([&] {
    connection_->probe(api::kStoreTimeout,
                       [&](muster::Status safe) { answered.set_value(std::move(safe)); });
  });
  return api::to_public(answered.get_future().get());
}

std::string Arbiter::describe() const {
  return connection_->address();
}

MUSTER_END_NAMESPACE
