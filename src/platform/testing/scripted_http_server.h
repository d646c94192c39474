#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "base/text.h"
#include "platform/unique_fd.h"

namespace muster {

/// An HTTP/1.1 server for tests, on a loopback port of its own, that answers what a function says
/// and misbehaves on demand. One thread per connection; the function is called under a lock.
class ScriptedHttpServer {
 public:
  struct Request {
    std::string method;
    std::string target;
    std::map<std::string, std::string> headers;  ///< Names in lower case.
    std::string body;
    [[nodiscard]] std::string header(const std::string& name) const {
      const auto it = headers.find(name);
      return it == headers.end() ? "" : it->second;
    }
  };
  enum class Fault {
    kNone,
    kCutBody,  ///< Announces the whole body, sends half, closes.
    kClose,    ///< Closes without an answer.
    kHang,     ///< Never answers.
  };
  struct Reply {
    int status = 200;
    std::string body = {};
    std::vector<std::pair<std::string, std::string>> headers = {};
    Fault fault = Fault::kNone;
  };
  using Handler = std::function<Reply(const Request&)>;

  explicit ScriptedHttpServer(Handler handler) : handler_(std::move(handler)) {
    listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    MUSTER_CHECK(::bind(listener_.get(), generic, size) == 0);
    MUSTER_CHECK(::listen(listener_.get(), 64) == 0);
    MUSTER_CHECK(::getsockname(listener_.get(), generic, &size) == 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~ScriptedHttpServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    for (auto& connection : connections_) ::shutdown(connection->socket.get(), SHUT_RDWR);
    for (auto& connection : connections_) connection->thread.join();
  }
  ScriptedHttpServer(const ScriptedHttpServer&) = delete;
  ScriptedHttpServer& operator=(const ScriptedHttpServer&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::vector<Request> requests() {
    MutexLock lock(mutex_);
    return requests_;
  }
  [[nodiscard]] std::size_t connection_count() {
    MutexLock lock(mutex_);
    return accepted_;
  }

 private:
  struct Connection {
    UniqueFd socket;
    std::thread thread;
  };

  void accept_all() {
    while (true) {
      UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.valid()) return;
      {
        MutexLock lock(mutex_);
        ++accepted_;
      }
      auto connection = std::make_unique<Connection>();
      connection->socket = std::move(socket);
      const int fd = connection->socket.get();
      connection->thread = std::thread([this, fd] { serve(fd); });
      connections_.push_back(std::move(connection));
    }
  }

  void serve(int fd) {
    std::string buffer;
    Request request;
    while (read_request(fd, buffer, request)) {
      Reply reply;
      {
        MutexLock lock(mutex_);
        requests_.push_back(request);
        reply = handler_(request);
      }
      if (reply.fault == Fault::kHang) {
        char ignored = 0;
        while (::recv(fd, &ignored, 1, 0) > 0) continue;
      }
      if (reply.fault == Fault::kHang || reply.fault == Fault::kClose) break;
      send_all(fd, head(reply) + reply.body.substr(0, sent_bytes(reply)));
      if (reply.fault == Fault::kCutBody) break;
    }
    ::shutdown(fd, SHUT_RDWR);
  }

  static std::size_t sent_bytes(const Reply& reply) {
    return reply.fault == Fault::kCutBody ? reply.body.size() / 2 : reply.body.size();
  }

  static std::string head(const Reply& reply) {
    std::string out = "HTTP/1.1 " + std::to_string(reply.status) + " Scripted\r\n";
    for (const auto& [name, value] : reply.headers) out += name + ": " + value + "\r\n";
    if (reply.status != 204 && reply.status != 304) {
      out += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
    }
    return out + "\r\n";
  }

  static void send_all(int fd, std::string_view data) {
    while (!data.empty()) {
      const ssize_t n = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      data.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  static bool receive(int fd, std::string& buffer) {
    char chunk[4096];
    const ssize_t n = ::recv(fd, chunk, sizeof chunk, 0);
    if (n <= 0) return false;
    buffer.append(chunk, static_cast<std::size_t>(n));
    return true;
  }

  static bool read_request(int fd, std::string& buffer, Request& request) {
    request = {};
    std::size_t end = 0;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
      // 0x16 begins a TLS handshake, which this server does not speak.
      if (!receive(fd, buffer) || buffer[0] == 0x16) return false;
    }
    const std::string top = buffer.substr(0, end);
    const auto lines = split(top, '\n');
    const auto words = split(trim(lines[0]), ' ');
    if (words.size() != 3) return false;
    request.method = words[0];
    request.target = words[1];
    for (const std::string_view line : lines) {
      const auto colon = line.find(':');
      if (&line == &lines[0] || colon == line.npos) continue;
      request.headers[to_lower(line.substr(0, colon))] = trim(line.substr(colon + 1));
    }
    buffer.erase(0, end + 4);
    const auto length = parse_unsigned(request.header("content-length")).value_or(0);
    while (buffer.size() < length) {
      if (!receive(fd, buffer)) return false;
    }
    request.body = buffer.substr(0, length);
    buffer.erase(0, length);
    return true;
  }

  const Handler handler_;
  UniqueFd listener_;
  int port_ = 0;
  Mutex mutex_;
  std::vector<Request> requests_ MUSTER_GUARDED_BY(mutex_);
  std::size_t accepted_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Connection>> connections_;  // The acceptor's, then the destructor's.
  std::thread acceptor_;
};

}  // namespace muster
