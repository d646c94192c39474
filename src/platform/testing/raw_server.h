#pragma once

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "platform/pki/socket_bio.h"
#include "platform/pki/tls.h"
#include "platform/unique_fd.h"

namespace muster::testing {

/// One connection of a RawServer: blocking, for the thread that serves it. With TLS after shake().
class RawPeer {
 public:
  explicit RawPeer(int fd) : fd_(fd) {}
  /// As a server; false when it fails.
  bool shake(SSL_CTX* context) {
    ssl_.reset(SSL_new(context));
    BIO* socket = pki::new_socket_bio(fd_);
    SSL_set_bio(ssl_.get(), socket, socket);
    ERR_clear_error();
    return SSL_accept(ssl_.get()) == 1;
  }
  /// What one read gives; empty when the other side has closed, or says nothing for long.
  std::string read() {
    std::string chunk(1 << 20, '\0');
    const auto size = ssl_ ? SSL_read(ssl_.get(), chunk.data(), static_cast<int>(chunk.size()))
                           : ::recv(fd_, chunk.data(), chunk.size(), 0);
    chunk.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return chunk;
  }
  /// Up to the end of a head; what belongs to a body stays unread where it comes later.
  std::string read_head() {
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
      const std::string more = read();
      if (more.empty()) return {};
      head += more;
    }
    return head;
  }
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto size = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                             : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
  }
  /// With data, that have come so far.
  [[nodiscard]] std::uint32_t segments() const {
    tcp_info facts{};
    socklen_t size = sizeof facts;
    MUSTER_CHECK(::getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &facts, &size) == 0);
    return facts.tcpi_data_segs_in;
  }
  /// Without it a TLS connection ends as if it had been cut.
  void say_goodbye() {
    if (ssl_) SSL_shutdown(ssl_.get());
  }
  /// A reset in the place of an end.
  void reset() {
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  [[nodiscard]] SSL* ssl() const { return ssl_.get(); }

 private:
  const int fd_;
  pki::SslPtr ssl_{nullptr, SSL_free};
};

/// Accepts connections on a loopback port, each served by a function on a thread of its own and
/// closed when that returns.
class RawServer {
 public:
  /// `number` counts connections from 0.
  using Serve = std::function<void(RawPeer&, std::size_t number)>;

  explicit RawServer(Serve serve, bool ipv6 = false) : serve_(std::move(serve)) {
    listener_.reset(::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in four{};
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_addr = in6addr_loopback;
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* address = ipv6 ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
    socklen_t size = ipv6 ? sizeof six : sizeof four;
    MUSTER_CHECK(::bind(listener_.get(), address, size) == 0);
    MUSTER_CHECK(::listen(listener_.get(), 64) == 0);
    MUSTER_CHECK(::getsockname(listener_.get(), address, &size) == 0);
    port_ = ntohs(ipv6 ? six.sin6_port : four.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~RawServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    {
      MutexLock lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (auto& each : threads_) each.join();
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::size_t accepted() {
    MutexLock lock(mutex_);
    return accepted_;
  }
  /// Of those accepted. The other side has been told.
  [[nodiscard]] std::size_t closed() {
    MutexLock lock(mutex_);
    return closed_;
  }

 private:
  void accept_all() {
    while (true) {
      UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd.valid()) return;
      const timeval patience{20, 0};
      ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      std::size_t number = 0;
      {
        MutexLock lock(mutex_);
        number = accepted_++;
        open_.push_back(fd.get());
      }
      threads_.emplace_back([this, number, held = std::make_shared<UniqueFd>(std::move(fd))] {
        {
          RawPeer peer(held->get());
          serve_(peer, number);
        }
        MutexLock lock(mutex_);
        std::erase(open_, held->get());
        held->reset();
        ++closed_;
      });
    }
  }

  const Serve serve_;
  UniqueFd listener_;
  int port_ = 0;
  Mutex mutex_;
  std::vector<int> open_ MUSTER_GUARDED_BY(mutex_);
  std::size_t accepted_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::size_t closed_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_;  // The acceptor's, then the destructor's.
  std::thread acceptor_;
};

}  // namespace muster::testing
