#include "platform/http/connection.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "platform/listener.h"

namespace muster::http {
namespace {

/// What a client says during a stream is thrown away, so much of it at a time: one that talks
/// without a pause must not keep the loop from the others.
constexpr int kReadsAtOnce = 16;
/// How long a client that was refused in the middle of its request may go on sending: a connection
/// that is closed over unread bytes is reset, and the client would never see why.
constexpr Duration kLingerTime = 1s;

std::string peer_certificate(const SSL* ssl) {
  const std::unique_ptr<X509, decltype(&X509_free)> shown(SSL_get1_peer_certificate(ssl),
                                                          X509_free);
  if (!shown) return {};
  const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
  if (!out || PEM_write_bio_X509(out.get(), shown.get()) != 1) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

/// The request of a connection, for its handler.
class Pending final : public Exchange {
 public:
  Pending(std::shared_ptr<Connection> connection, Request request)
      : connection_(std::move(connection)), request_(std::move(request)) {}
  ~Pending() override {
    if (!over()) connection_->close();
  }

  [[nodiscard]] const Request& request() const override { return request_; }

  void reply(Response response) override {
    if (over() || begun_) return;
    connection_->send_head(response, true);
    if (request_.method != "HEAD") connection_->send(response.content);
    answered_ = true;
    connection_->finish();
  }

  void stream(Response head) override {
    if (over() || begun_) return;
    begun_ = true;
    connection_->send_head(head, false);
    // Streams end when the client hangs up: there is no other sign that it has gone.
    if (request_.method != "HEAD" && !connection_->hung_up()) return;
    answered_ = true;
    connection_->finish();
  }

  void write(const Body& bytes) override {
    if (begun_ && !over()) connection_->send(bytes);
  }

  void end() override {
    if (!begun_ || over()) return;
    answered_ = true;
    connection_->finish();
  }

  void on_taken(std::function<void()> taken) override {
    if (!over()) connection_->on_taken(std::move(taken));
  }

  void on_gone(std::function<void()> gone) override { connection_->on_gone(std::move(gone)); }

  [[nodiscard]] bool over() const override { return answered_ || connection_->closed(); }

 private:
  std::shared_ptr<Connection> connection_;
  Request request_;
  bool begun_ = false;
  bool answered_ = false;
};

}  // namespace

Connection::Connection(Host& host, UniqueFd fd, const TlsContext& tls)
    : host_(host),
      fd_(std::move(fd)),
      ssl_(tls ? SSL_new(tls.get()) : nullptr, SSL_free),
      shaken_(!tls),
      remote_(remote_host(fd_.get())),
      deadline_(host.loop) {}

Connection::~Connection() {
  if (fd_.valid()) host_.loop.unwatch_fd(fd_.get());
}

void Connection::begin() {
  if (!shaken_) {
    if (!ssl_ || SSL_set_fd(ssl_.get(), fd_.get()) != 1) return close();
    SSL_set_accept_state(ssl_.get());
    SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  }
  waits_since_ = host_.loop.now();
  deadline_.arm(host_.options.head_timeout, [this] { close(); });
  watch();
}

void Connection::close() {
  if (!fd_.valid()) return;
  const auto self = shared_from_this();
  deadline_.cancel();
  host_.loop.unwatch_fd(fd_.get());
  if (ssl_ && shaken_) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  ssl_.reset();
  fd_.reset();
  unsent_.clear();
  taken_ = {};
  tell_gone();
  host_.closed(*this);
}

void Connection::close_softly() {
  if (!unread_ || read_all_) return close();
  if (!lingering_) linger();
}

void Connection::linger() {
  lingering_ = true;
  received_.clear();
  if (ssl_) SSL_shutdown(ssl_.get());
  if (::shutdown(fd_.get(), SHUT_WR) != 0) return close();
  deadline_.arm(kLingerTime, [this] { close(); });
  watch();
}

void Connection::on_taken(std::function<void()> taken) {
  taken_ = std::move(taken);
  if (unsent_.empty()) tell_taken();
}

void Connection::on_gone(std::function<void()> gone) {
  gone_ = std::move(gone);
  if (closed() || hung_up_) tell_gone();
}

// Posted: the listener may act on this connection, which is in the middle of something.
void Connection::tell_taken() {
  if (taken_) host_.loop.post(std::exchange(taken_, {}));
}

void Connection::tell_gone() {
  if (gone_) host_.loop.post(std::exchange(gone_, {}));
}

Connection::Phase Connection::phase() const {
  if (lingering_) return Phase::kIdle;
  if (answering_ || ending_ || !unsent_.empty()) return Phase::kAnswering;
  return served_ && received_.empty() ? Phase::kIdle : Phase::kArriving;
}

// An answer that its client has not taken is held here: the next request waits for that, or one
// that asks without reading would make this process hold whatever it asks for.
bool Connection::busy() const {
  return !streaming_ && (answering_ || !unsent_.empty());
}

void Connection::watch() {
  if (!fd_.valid()) return;
  std::uint32_t events = EPOLLIN | EPOLLRDHUP;
  if (busy()) events = EPOLLRDHUP;
  // What is known already would be told again and again.
  if (hung_up_) events &= ~static_cast<std::uint32_t>(EPOLLRDHUP);
  if (read_all_) events = 0;
  if (!unsent_.empty() || tls_writes_) events |= EPOLLOUT;
  if (events == watched_) return;
  watched_ = events;
  host_.loop.watch_fd(fd_.get(), events, [this](std::uint32_t happened) {
    const auto self = shared_from_this();
    if ((happened & (EPOLLHUP | EPOLLERR)) != 0) return close();
    if ((happened & EPOLLRDHUP) != 0) {
      hung_up_ = true;
      tell_gone();
    }
    ready();
  });
}

void Connection::ready() {
  run();
  watch();
}

void Connection::run() {
  tls_writes_ = false;
  if (lingering_) return discard();
  if (!shaken_) {
    const Io shaken = handshake();
    if (shaken == Io::kGone) return close();
    if (shaken == Io::kAgain) return;
  }
  if (flush() == Io::kGone) return close();
  if (ending_ && unsent_.empty()) return close_softly();
  if (ending_ || busy()) return;
  if (receive() == Io::kGone || (streaming_ && hung_up_)) return close();
  if (!answering_) next_request();
}

// The bytes of TLS as well: nobody reads what they mean.
void Connection::discard() {
  std::array<char, 4096> chunk;
  for (int reads = 0; reads < kReadsAtOnce; ++reads) {
    const ssize_t count = ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
    if (count > 0) continue;
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    return close();
  }
}

Connection::Io Connection::handshake() {
  ERR_clear_error();
  const Io io = tls_result(SSL_do_handshake(ssl_.get()));
  if (io != Io::kDone) return io;
  shaken_ = true;
  certificate_ = peer_certificate(ssl_.get());
  return Io::kDone;
}

// Call ERR_clear_error() before what returned `result`: the list of errors is that of the thread,
// and what another connection left there would be taken for one of this.
Connection::Io Connection::tls_result(int result) {
  if (result > 0) return Io::kDone;
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_WRITE) tls_writes_ = true;
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? Io::kAgain : Io::kGone;
}

Connection::Io Connection::receive() {
  std::array<char, 4096> chunk;
  const std::size_t most = kHeadBytesMax + host_.options.rules.body_bytes_max;
  for (int reads = 1; received_.size() <= most; ++reads) {
    if (ssl_) {
      ERR_clear_error();
      const int count = SSL_read(ssl_.get(), chunk.data(), static_cast<int>(chunk.size()));
      const Io io = tls_result(count);
      read_all_ = io == Io::kGone && (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
      if (read_all_) break;
      if (io != Io::kDone) return io;
      received_.append(chunk.data(), static_cast<std::size_t>(count));
    } else {
      const ssize_t count = ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
      read_all_ = count == 0;
      if (read_all_) break;
      if (count < 0) return errno == EAGAIN || errno == EINTR ? Io::kAgain : Io::kGone;
      received_.append(chunk.data(), static_cast<std::size_t>(count));
    }
    if (!streaming_) continue;
    received_.clear();
    if (reads == kReadsAtOnce) return Io::kAgain;
  }
  if (read_all_) hung_up_ = true;
  if (read_all_ && answering_) tell_gone();
  return Io::kDone;
}

void Connection::next_request() {
  if (received_.empty()) return end_if_all_came();
  // The clock of a request runs from its first byte, however slowly the others come.
  if (!std::exchange(head_begun_, true)) {
    waits_since_ = host_.loop.now();
    deadline_.arm(host_.options.head_timeout, [this] { close(); });
  }
  if (received_.size() < needed_) return end_if_all_came();
  Parsed parsed = take_request(received_, host_.options.rules);
  if (parsed.refused) return refuse(*parsed.refused);
  needed_ = parsed.needs;
  if (parsed.request) return hand_on(std::move(*parsed.request));
  if (parsed.asks_to_continue && !std::exchange(continued_, true)) {
    send(body("HTTP/1.1 100 Continue\r\n\r\n"));
    if (fd_.valid()) deadline_.arm(host_.options.head_timeout, [this] { close(); });
  }
  end_if_all_came();
}

void Connection::end_if_all_came() {
  if (!read_all_ || !fd_.valid()) return;
  ending_ = true;
  if (unsent_.empty()) close();
}

void Connection::hand_on(Request request) {
  deadline_.cancel();
  head_begun_ = false;
  continued_ = false;
  request.certificate = certificate_;
  request.remote = remote_;
  // A stranger, or a probe, has its answer and makes room.
  if (ssl_ && certificate_.empty()) request.keep_alive = false;
  keep_alive_ = request.keep_alive;
  answering_ = true;
  if (!host_.handler) return close();
  host_.handler(std::make_shared<Pending>(shared_from_this(), std::move(request)));
}

void Connection::refuse(const RefusedRequest& refusal) {
  const auto& answer = host_.options.refuse;
  const Response response =
      answer ? answer(refusal) : http::refusal(refusal.status, refusal.sentence);
  keep_alive_ = false;
  unread_ = true;
  answering_ = true;
  send_head(response, true);
  send(response.content);
  finish();
}

void Connection::send_head(const Response& response, bool ends) {
  streaming_ = !ends;
  send(body(
      head(response, ends ? std::optional(response.content->size()) : std::nullopt, keep_alive_)));
}

void Connection::send(Body bytes) {
  if (!fd_.valid() || bytes->empty()) return;
  const bool behind = unsent_bytes_ + bytes->size() > host_.options.unsent_bytes_max;
  if (streaming_ && behind && !unsent_.empty()) return close();
  if (unsent_.empty()) deadline_.arm(host_.options.idle_timeout, [this] { close(); });
  unsent_bytes_ += bytes->size();
  unsent_.push_back(std::move(bytes));
  if (flush() == Io::kGone) return close();
  watch();
}

Connection::Io Connection::flush() {
  while (!unsent_.empty()) {
    const std::string& front = *unsent_.front();
    const char* data = front.data() + sent_;
    const std::size_t left = std::min<std::size_t>(front.size() - sent_, 1 << 20);
    std::size_t written = 0;
    if (ssl_) {
      ERR_clear_error();
      const int count = SSL_write(ssl_.get(), data, static_cast<int>(left));
      const Io io = tls_result(count);
      if (io != Io::kDone) return io;
      written = static_cast<std::size_t>(count);
    } else {
      const ssize_t count = ::send(fd_.get(), data, left, MSG_NOSIGNAL);
      if (count < 0) return errno == EAGAIN || errno == EINTR ? Io::kAgain : Io::kGone;
      written = static_cast<std::size_t>(count);
    }
    // A client that reads, however slowly, is not idle.
    deadline_.arm(host_.options.idle_timeout, [this] { close(); });
    sent_ += written;
    unsent_bytes_ -= written;
    if (sent_ < front.size()) continue;
    unsent_.pop_front();
    sent_ = 0;
  }
  // A stream may be silent for as long as its writer has nothing to say.
  if (streaming_) deadline_.cancel();
  tell_taken();
  return Io::kDone;
}

void Connection::finish() {
  if (!fd_.valid()) return;
  answering_ = false;
  served_ = true;
  taken_ = {};
  gone_ = {};
  waits_since_ = host_.loop.now();
  ending_ = streaming_ || !keep_alive_ || (read_all_ && received_.empty());
  if (ending_ && unsent_.empty()) return close_softly();
  if (!ending_) deadline_.arm(host_.options.idle_timeout, [this] { close(); });
  watch();
  // Another request may have come with the first.
  if (ending_ || received_.empty()) return;
  host_.loop.post([weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && self->fd_.valid()) self->ready();
  });
}

}  // namespace muster::http
