#include "platform/pki/stream_socket.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "platform/pki/socket_bio.h"

namespace muster::pki {
namespace {

int at_once(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

}  // namespace

void StreamSocket::begin_tls(SslPtr ssl) {
  ssl_ = std::move(ssl);
  BIO* socket = new_socket_bio(fd_.get());
  MUSTER_CHECK(socket != nullptr);
  SSL_set_bio(ssl_.get(), socket, socket);
  SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                               SSL_MODE_RELEASE_BUFFERS);
  SSL_set_connect_state(ssl_.get());
}

StreamSocket::Io StreamSocket::shake() {
  ERR_clear_error();
  const Io io = tls_result(SSL_do_handshake(ssl_.get()));
  shaken_ = io == Io::kDone;
  return io;
}

StreamSocket::Io StreamSocket::read(char* to, std::size_t room, std::size_t& count) {
  if (ssl_) {
    ERR_clear_error();
    const int read = SSL_read(ssl_.get(), to, at_once(room));
    count = static_cast<std::size_t>(std::max(read, 0));
    return tls_result(read);
  }
  const ssize_t read = ::recv(fd_.get(), to, room, 0);
  count = static_cast<std::size_t>(std::max<ssize_t>(read, 0));
  if (read > 0) return Io::kDone;
  if (read < 0) return system_result();
  ended_ = true;
  failure_ = {kClosedByOther};
  return Io::kGone;
}

StreamSocket::Io StreamSocket::write(const char* from, std::size_t size, std::size_t& count) {
  if (ssl_) {
    ERR_clear_error();
    const int written = SSL_write(ssl_.get(), from, at_once(size));
    count = static_cast<std::size_t>(std::max(written, 0));
    return tls_result(written);
  }
  const ssize_t written = ::send(fd_.get(), from, size, MSG_NOSIGNAL);
  count = static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  return written < 0 ? system_result() : Io::kDone;
}

bool StreamSocket::has_pending() const {
  return ssl_ && SSL_pending(ssl_.get()) > 0;
}

void StreamSocket::close() {
  if (ssl_ && shaken_ && failure_.text.empty()) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  ssl_.reset();
  fd_.reset();
}

StreamSocket::Io StreamSocket::tls_result(int result) {
  wants_write_ = false;
  if (result > 0) return Io::kDone;
  const int system_error = errno;
  const int error = SSL_get_error(ssl_.get(), result);
  wants_write_ = error == SSL_ERROR_WANT_WRITE;
  if (error == SSL_ERROR_WANT_READ || wants_write_) return Io::kAgain;
  ended_ = error == SSL_ERROR_ZERO_RETURN;
  failure_ = ended_ ? TlsFailure{kClosedByOther}
                    : tls_failure(ssl_.get(), error == SSL_ERROR_SYSCALL ? system_error : 0);
  return Io::kGone;
}

StreamSocket::Io StreamSocket::system_result() {
  if (errno == EAGAIN || errno == EINTR) return Io::kAgain;
  failure_ = {std::system_category().message(errno)};
  return Io::kGone;
}

}  // namespace muster::pki
