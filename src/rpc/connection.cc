#include "rpc/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "platform/listener.h"
#include "platform/pki/socket_bio.h"

namespace muster::rpc {
namespace {

/// As much is read, and made ready for writing, at a time. A connection that has more waits for its
/// next turn.
constexpr std::size_t kChunk = 64 * 1024;
constexpr std::size_t kSentAtOnceMax = 16 * kChunk;
/// What may still be on its way from a client when the server has nothing more to say.
constexpr std::size_t kDiscardedMax = 8 << 20;
constexpr std::string_view kAlpn = "h2";

std::string describe(int error) {
  return std::system_category().message(error);
}

}  // namespace

std::string network_of(const std::string& host) {
  in6_addr six{};
  if (::inet_pton(AF_INET6, host.c_str(), &six) != 1) return host;
  std::fill(std::begin(six.s6_addr) + 8, std::end(six.s6_addr), 0);
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, &six, text.data(), text.size());
  return std::string(text.data()) + "/64";
}

void SendTurn::add(std::weak_ptr<Connection> connection) {
  waiting_.push_back(std::move(connection));
  if (waiting_.size() == 1) loop_.post(lifetime_.wrap([this] { flush(); }));
}

void SendTurn::flush() {
  for (const auto& each : std::exchange(waiting_, {})) {
    const auto connection = each.lock();
    if (!connection) continue;
    connection->touched_ = false;
    if (connection->open()) connection->happened(0);
  }
}

Connection::Connection(EventLoop& loop, SendTurn& turn, UniqueFd fd, SslPtr ssl, Session::Side side,
                       const ConnectionOptions& options, SessionEvents& events, Hooks hooks)
    : loop_(loop),
      turn_(turn),
      fd_(std::move(fd)),
      ssl_(std::move(ssl)),
      side_(side),
      options_(options),
      hooks_(std::move(hooks)),
      session_(side, options.session, events, loop.now()),
      connecting_(side == Session::Side::kClient),
      shaken_(!ssl_) {}

Connection::~Connection() {
  if (fd_.valid()) loop_.unwatch_fd(fd_.get());
}

void Connection::begin() {
  begun_at_ = heard_at_ = loop_.now();
  const int on = 1;
  // Answers leave when they are there; the kernel's way to gather them would delay each. It may be
  // refused for sockets that are none of TCP, and nothing depends on it.
  (void)::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (ssl_) {
    BIO* socket = pki::new_socket_bio(fd_.get());
    // Without memory only: nothing has come from the other side yet.
    MUSTER_CHECK(socket != nullptr);
    SSL_set_bio(ssl_.get(), socket, socket);
    SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                 SSL_MODE_RELEASE_BUFFERS);
    if (side_ == Session::Side::kServer) {
      SSL_set_accept_state(ssl_.get());
    } else {
      SSL_set_connect_state(ssl_.get());
    }
  }
  if (!connecting_) remote_ = remote_host(fd_.get());
  touch();
  watch();
}

void Connection::touch() {
  if (!fd_.valid() || in_turn_ || std::exchange(touched_, true)) return;
  turn_.add(weak_from_this());
}

void Connection::close() {
  end({Errc::kCancelled, "the connection was closed here"});
}

void Connection::end(Error why) {
  if (!fd_.valid()) return;
  const auto self = shared_from_this();
  if (trouble_.text.empty()) trouble_.text = why.message;
  loop_.unwatch_fd(fd_.get());
  if (ssl_ && shaken_ && !lingering_) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  ssl_.reset();
  fd_.reset();
  outgoing_ = std::string();
  if (const auto ended = std::exchange(hooks_.ended, {})) ended(why);
}

void Connection::look() {
  if (!fd_.valid()) return;
  const MonoTime now = loop_.now();
  if (lingering_) {
    if (now - lingers_since_ >= options_.closed_within) close();
    return;
  }
  if (!ready_) {
    if (now - begun_at_ < options_.ready_within) return;
    trouble_ = awaited();
    return end({Errc::kUnavailable, trouble_.text});
  }
  // Bytes now and then are not enough: they would keep all that waits behind them.
  if (untaken() > 0 && now - outgoing_since_ >= options_.taken_within) {
    const std::string why = "it takes none of the data sent to it";
    session_.give_up_on(Breach::kUntaken, why);
    return end({Errc::kUnavailable, why});
  }
  if (now >= asked_at_ && now - asked_at_ >= options_.answer_within) {
    return end({Errc::kUnavailable, "the peer fell silent"});
  }
  if (side_ == Session::Side::kClient && session_.streams() == 0) return;
  if (asked_at_ == MonoTime::max() && now - heard_at_ >= options_.ask_after) {
    asked_at_ = now;
    session_.ping();
    touch();
  }
}

Trouble Connection::awaited() const {
  if (connecting_) return {Trouble::Kind::kOther, "connecting took too long"};
  if (!shaken_) return {Trouble::Kind::kSilent, "the TLS handshake took too long"};
  return {Trouble::Kind::kSilent, "the peer accepted the connection and sent nothing"};
}

void Connection::watch() {
  if (!fd_.valid()) return;
  std::uint32_t events = EPOLLIN;
  if (connecting_ || tls_writes_ || untaken() > 0) events |= EPOLLOUT;
  if (events == watched_) return;
  watched_ = events;
  loop_.watch_fd(fd_.get(), events, [this](std::uint32_t what) { happened(what); });
}

void Connection::happened(std::uint32_t events) {
  const auto self = shared_from_this();
  if (lingering_) {
    if (discard() == Io::kGone) close();
    return;
  }
  in_turn_ = true;
  Io io = Io::kDone;
  if (connecting_) {
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0)
      io = Io::kAgain;
    else if (!finish_connecting())
      io = Io::kGone;
  }
  if (io == Io::kDone && !shaken_) io = shake();
  if (io == Io::kDone && (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) io = receive();
  if (!spoke_) note_speech();
  if (shaken_ && !connecting_ && hooks_.received) hooks_.received();
  if (!fd_.valid()) return;  // One of those who heard of it has closed it.
  // What is still to be sent may say why it ends.
  if (shaken_ && !connecting_ && flush() == Io::kGone) io = Io::kGone;
  in_turn_ = false;
  if (io == Io::kGone) return end({Errc::kUnavailable, trouble_.text});
  end_if_over();
  watch();
  if (came_ > 0 && fd_.valid()) choose_pace();
}

void Connection::note_speech() {
  if (!fd_.valid()) return;
  spoke_ = ssl_ ? BIO_number_read(SSL_get_rbio(ssl_.get())) > 0 : heard_at_ > begun_at_;
  if (spoke_ && hooks_.spoke) hooks_.spoke();
}

void Connection::choose_pace() {
  const bool patient = pace_.read(std::exchange(came_, 0), heard_at_);
  if (std::exchange(patient_, patient) != patient) loop_.set_patient(fd_.get(), patient);
}

void Connection::end_if_over() {
  if (!fd_.valid()) return;
  // One that is cut off is told why as far as it takes that now, and not waited for.
  const bool told = untaken() == 0 && session_.over();
  if (!told && (session_.breach() == Breach::kNone || untaken() == 0)) return;
  if (side_ == Session::Side::kServer && session_.breach() == Breach::kNone) return linger();
  const std::string& breach = session_.breach_message();
  // Unread bytes would reset the connection before the peer reads why it ends.
  if (side_ == Session::Side::kServer) (void)discard();
  if (!ready_) trouble_.kind = Trouble::Kind::kNotGrpc;
  end({session_.breach() == Breach::kNone ? Errc::kUnavailable : Errc::kDenied,
       breach.empty() ? "the peer closed the connection" : breach});
}

// A socket that is closed while bytes of its client are unread, or on their way, resets the
// connection, and the client may lose answers that it has not read yet. So the client closes first.
void Connection::linger() {
  lingering_ = true;
  lingers_since_ = loop_.now();
  if (ssl_) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  if (::shutdown(fd_.get(), SHUT_WR) != 0 || discard() == Io::kGone) close();
}

Connection::Io Connection::discard() {
  std::array<char, 4096> unread{};
  const ssize_t read = ::recv(fd_.get(), unread.data(), unread.size(), 0);
  if (read > 0) discarded_ += static_cast<std::size_t>(read);
  if (discarded_ > kDiscardedMax) return Io::kGone;
  if (read > 0 || (read < 0 && (errno == EAGAIN || errno == EINTR))) return Io::kAgain;
  return Io::kGone;
}

bool Connection::finish_connecting() {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) {
    gone(trouble_kind(error), describe(error));
    return false;
  }
  connecting_ = false;
  remote_ = remote_host(fd_.get());
  return true;
}

Connection::Io Connection::shake() {
  tls_writes_ = false;
  ERR_clear_error();
  const Io io = tls_result(SSL_do_handshake(ssl_.get()));
  if (io != Io::kDone) return io;
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &chosen, &size);
  if (std::string_view(reinterpret_cast<const char*>(chosen), size) != kAlpn) {
    return gone(Trouble::Kind::kNotGrpc, "TLS did not agree on HTTP/2");
  }
  if (hooks_.shaken) {
    if (const Status let_in = hooks_.shaken(ssl_.get()); !let_in) {
      return gone(Trouble::Kind::kTls, let_in.error().message);
    }
  }
  shaken_ = true;
  return Io::kDone;
}

Connection::Io Connection::receive() {
  static thread_local std::array<char, kChunk> chunk;
  for (std::size_t got = 0; got < kChunk;) {
    std::size_t count = 0;
    if (ssl_) {
      tls_writes_ = false;
      ERR_clear_error();
      const int read = SSL_read(ssl_.get(), chunk.data(), static_cast<int>(chunk.size()));
      if (const Io io = tls_result(read); io != Io::kDone) {
        return io == Io::kAgain ? Io::kDone : io;
      }
      count = static_cast<std::size_t>(read);
    } else {
      const ssize_t read = ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
      if (read < 0 && (errno == EAGAIN || errno == EINTR)) return Io::kDone;
      if (read <= 0)
        return gone(Trouble::Kind::kClosed, read < 0 ? describe(errno) : pki::kClosedByOther);
      count = static_cast<std::size_t>(read);
    }
    got += count;
    heard_at_ = loop_.now();
    asked_at_ = MonoTime::max();
    session_.receive({chunk.data(), count}, heard_at_);
    if (session_.greeted() && !std::exchange(ready_, true) && hooks_.ready) hooks_.ready();
    if (!ssl_ && count < chunk.size()) return Io::kDone;
  }
  // What TLS has decoded already shows no more at the socket.
  if (ssl_ && SSL_has_pending(ssl_.get()) != 0) {
    loop_.post([weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && self->open()) self->happened(EPOLLIN);
    });
  }
  return Io::kDone;
}

Connection::Io Connection::flush() {
  for (std::size_t total = 0; total < kSentAtOnceMax;) {
    // As a rule all of it leaves at once, and the connection need not keep a buffer.
    static thread_local std::string made;
    std::string_view rest = std::string_view(outgoing_).substr(sent_);
    const bool kept = !rest.empty();
    if (!kept) {
      made.clear();
      session_.produce(made, kChunk);
      if (made.empty()) break;
      rest = made;
    }
    std::size_t count = 0;
    const Io io = write(rest, count);
    total += count;
    sent_ = kept ? sent_ + count : 0;
    if (!kept) {
      outgoing_ = rest.substr(count);
      outgoing_since_ = loop_.now();
    }
    if (sent_ == outgoing_.size()) {
      outgoing_ = std::string();
      sent_ = 0;
    }
    if (io != Io::kDone) return io;
    // The others have their turn first.
    if (total >= kSentAtOnceMax && !std::exchange(touched_, true)) turn_.add(weak_from_this());
  }
  return Io::kDone;
}

Connection::Io Connection::write(std::string_view bytes, std::size_t& count) {
  if (ssl_) {
    ERR_clear_error();
    const int written = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (const Io io = tls_result(written); io != Io::kDone) return io;
    count = static_cast<std::size_t>(written);
    return Io::kDone;
  }
  const ssize_t written = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return Io::kAgain;
  if (written < 0) return gone(Trouble::Kind::kClosed, describe(errno));
  count = static_cast<std::size_t>(written);
  return Io::kDone;
}

Connection::Io Connection::gone(Trouble::Kind kind, std::string text) {
  if (trouble_.text.empty()) trouble_ = {kind, std::move(text)};
  return Io::kGone;
}

Connection::Io Connection::tls_result(int result) {
  if (result > 0) return Io::kDone;
  const int system_error = errno;
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_WRITE) tls_writes_ = true;
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return Io::kAgain;
  if (error == SSL_ERROR_ZERO_RETURN) return gone(Trouble::Kind::kTurnedAway, pki::kClosedByOther);
  const std::string why =
      pki::tls_failure(ssl_.get(), error == SSL_ERROR_SYSCALL ? system_error : 0).text;
  if (shaken_) return gone(Trouble::Kind::kTurnedAway, "TLS: " + why);
  return gone(Trouble::Kind::kTls, "the TLS handshake failed: " + why);
}

}  // namespace muster::rpc
