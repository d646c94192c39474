#include "platform/http/http_client.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <unordered_map>
#include <utility>

#include "platform/event_loop.h"
#include "platform/http/client_connection.h"
#include "platform/http/transfer.h"
#include "platform/pki/tls.h"

namespace muster {
namespace {

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

using http::ClientConnection;
using http::Transfer;

std::string_view HttpResponse::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

/// Running requests, waiting requests, and idle connections. Completions are
/// posted, so nobody destroys this from within.
class HttpClient::Transfers {
 public:
  Transfers(EventLoop& loop, Options options)
      : loop_(loop), options_(std::move(options)), names_(loop), sweep_(loop) {
    host_.lost = [this](ClientConnection& lost) {
      std::erase_if(idle_, [&](const auto& each) { return each.get() == &lost; });
    };
    host_.tls = [this](const std::string& name) { return tls_to(name); };
    hooks_.answered = [this](Transfer& transfer) { answered(transfer); };
    hooks_.broke = [this](Transfer& transfer, const pki::TlsFailure& why) { broke(transfer, why); };
  }
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  void add(HttpRequest request, Answered done) {
    auto made = std::make_unique<Transfer>(loop_, hooks_, std::move(request), std::move(done));
    Transfer& transfer = *made;
    transfers_.emplace(&transfer, std::move(made));
    transfer.at_deadline([this, &transfer] { expire(transfer); });
    waiting_.push_back(&transfer);
    start_waiting();
  }

 private:
  using ConnectionPtr = std::shared_ptr<ClientConnection>;

  void start_waiting() {
    while (!waiting_.empty() && transfers_.size() - waiting_.size() < options_.in_flight_max) {
      Transfer& transfer = *waiting_.front();
      waiting_.pop_front();
      if (transfer.by() <= loop_.now()) {
        complete(transfer, transfer.expired());
      } else if (Status ready = transfer.prepare(environment_variable); !ready) {
        complete(transfer, transfer.failure({ready.error().message}));
      } else {
        start(transfer, take_idle(transfer.route().key()));
      }
    }
  }

  /// On `old`, or a new connection where that is null.
  void start(Transfer& transfer, ConnectionPtr old) {
    if (old) return transfer.run_on(std::move(old), true);
    transfer.run_on(std::make_shared<ClientConnection>(host_, transfer.route()), false);
  }

  /// The one that was used last, as the others are to be closed some time. Null without any.
  ConnectionPtr take_idle(const std::string& key) {
    for (std::size_t i = idle_.size(); i-- > 0;) {
      if (idle_[i]->key() != key) continue;
      ConnectionPtr connection = std::move(idle_[i]);
      idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
      if (connection->usable()) return connection;
    }
    return nullptr;
  }

  void keep(ConnectionPtr connection) {
    connection->idle_since = loop_.now();
    idle_.push_back(std::move(connection));
    if (idle_.size() > options_.in_flight_max) idle_.pop_front();
    if (!sweep_.armed()) sweep_.arm(options_.idle_max, [this] { sweep(); });
  }

  void sweep() {
    const MonoTime now = loop_.now();
    while (!idle_.empty() && now - idle_.front()->idle_since >= options_.idle_max)
      idle_.pop_front();
    if (!idle_.empty())
      sweep_.arm(idle_.front()->idle_since + options_.idle_max, [this] { sweep(); });
  }

  void answered(Transfer& transfer) {
    ConnectionPtr connection = transfer.leave();
    complete(transfer, transfer.result());
    if (connection->reusable()) {
      keep(std::move(connection));
    } else {
      connection->close();
    }
    start_waiting();
  }

  void broke(Transfer& transfer, const pki::TlsFailure& why) {
    const ConnectionPtr connection = transfer.leave();
    if (transfer.may_go_again()) return start(transfer, nullptr);
    complete(transfer, transfer.failure(why));
    start_waiting();
  }

  void expire(Transfer& transfer) {
    if (const ConnectionPtr connection = transfer.leave()) {
      connection->close();
    } else {
      std::erase(waiting_, &transfer);
    }
    complete(transfer, transfer.expired());
    start_waiting();
  }

  void complete(Transfer& transfer, Result<HttpResponse> result) {
    loop_.post([done = transfer.take_done(), result = std::move(result)]() mutable {
      done(std::move(result));
    });
    transfers_.erase(&transfer);
  }

  Result<pki::SslPtr> tls_to(const std::string& name) {
    if (!tls_) {
      auto opened = pki::ClientTls::open({options_.ca_file, options_.cert_file, options_.key_file},
                                         {.tls12 = !options_.tls13_only, .protocol = "http/1.1"});
      if (!opened) return opened.error();
      tls_ = std::move(*opened);
    }
    return tls_->to(name);
  }

  EventLoop& loop_;
  const Options options_;
  http::Names names_;
  ClientConnection::Host host_{loop_, names_, {}, {}};
  Transfer::Hooks hooks_;
  Timer sweep_;
  std::shared_ptr<pki::ClientTls> tls_;  ///< Made for the first connection that needs it.
  std::deque<ConnectionPtr> idle_;       ///< The one that was used last is the last.
  /// Every request not yet answered; those without a connection wait for their turn.
  std::unordered_map<const Transfer*, std::unique_ptr<Transfer>> transfers_;
  std::deque<Transfer*> waiting_;
};

HttpClient::HttpClient(EventLoop& loop, Options options)
    : loop_(loop),
      outstanding_max_(options.in_flight_max + options.waiting_max),
      transfers_(std::make_unique<Transfers>(loop, std::move(options))) {}

HttpClient::~HttpClient() = default;

void HttpClient::send(HttpRequest request, Answered done) {
  if (outstanding_ >= outstanding_max_) {
    loop_.post(lifetime_.wrap([done = std::move(done)] {
      done({Errc::kUnavailable, "too many HTTP requests are under way"});
    }));
    return;
  }
  ++outstanding_;
  transfers_->add(
      std::move(request),
      lifetime_.wrap([this, done = std::move(done)](Result<HttpResponse> result) mutable {
        --outstanding_;
        done(std::move(result));
      }));
}

}  // namespace muster
