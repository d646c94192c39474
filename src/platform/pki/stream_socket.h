#pragma once

#include <cstddef>
#include <string>

#include "platform/pki/tls.h"
#include "platform/unique_fd.h"

namespace muster::pki {

/// A connected, non-blocking stream socket, with TLS or without: one step at a time, as far as the
/// socket allows. Raises no SIGPIPE. Its owner waits for the socket. One thread.
class StreamSocket {
 public:
  enum class Io {
    kDone,   ///< The step was taken.
    kAgain,  ///< The socket is not ready for it: wants_write() says for what to wait.
    kGone,   ///< The connection is of no use any more: failure() says why, unless it was ended().
  };

  StreamSocket() = default;
  explicit StreamSocket(UniqueFd fd) : fd_(std::move(fd)) {}

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool open() const { return fd_.valid(); }
  [[nodiscard]] bool has_tls() const { return ssl_ != nullptr; }

  /// Everything from here on goes through `ssl`, once shake() has succeeded.
  void begin_tls(SslPtr ssl);
  /// The client's side of the handshake.
  [[nodiscard]] Io shake();
  /// Up to `room` bytes; `count` says how many, at least one with kDone.
  [[nodiscard]] Io read(char* to, std::size_t room, std::size_t& count);
  [[nodiscard]] Io write(const char* from, std::size_t size, std::size_t& count);

  /// TLS waits until the socket can be written, whatever was wanted of it.
  [[nodiscard]] bool wants_write() const { return wants_write_; }
  /// TLS holds bytes that were received and not read: no readiness of the socket tells of them.
  [[nodiscard]] bool has_pending() const;
  /// The other side has closed in order: with TLS, it said so.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] const TlsFailure& failure() const { return failure_; }
  /// Says goodbye where TLS has a word for it.
  void close();

 private:
  Io tls_result(int result);
  Io system_result();

  UniqueFd fd_;
  SslPtr ssl_{nullptr, SSL_free};
  bool shaken_ = false;
  bool wants_write_ = false;
  bool ended_ = false;
  TlsFailure failure_;
};

}  // namespace muster::pki
