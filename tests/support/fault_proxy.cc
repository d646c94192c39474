#include "tests/support/fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "tests/support/loopback.h"

namespace muster {
namespace {

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Reads more into `buffer`; false at the end.
bool receive(int fd, std::string& buffer) {
  std::array<char, 65536> chunk;
  ssize_t count = 0;
  do count = ::recv(fd, chunk.data(), chunk.size(), 0);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  buffer.append(chunk.data(), static_cast<std::size_t>(count));
  return true;
}

/// The value of a header, empty without it.
std::string header(const std::string& head, const std::string& name) {
  for (const std::string_view line : split(head, '\n')) {
    const auto colon = line.find(':');
    if (colon != line.npos && to_lower(line.substr(0, colon)) == name)
      return std::string(trim(line.substr(colon + 1)));
  }
  return {};
}

/// Splits messages off a stream, keeping what follows for the next.
class MessageReader {
 public:
  explicit MessageReader(int fd) : fd_(fd) {}

  /// The bytes up to the empty line, included; empty at the end of the stream.
  std::string head() {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == buffer_.npos) {
      if (!receive(fd_, buffer_)) return {};
    }
    return take(end + 4);
  }
  bool sized_body(std::size_t length, std::string& body) {
    while (buffer_.size() < length) {
      if (!receive(fd_, buffer_)) return false;
    }
    body = take(length);
    return true;
  }
  /// Chunked, as it was sent: nothing is decoded.
  bool chunked_body(std::string& body) {
    while (true) {
      std::size_t end = 0;
      while ((end = buffer_.find("\r\n")) == buffer_.npos) {
        if (!receive(fd_, buffer_)) return false;
      }
      const std::size_t length = std::stoul(buffer_.substr(0, end), nullptr, 16);
      std::string chunk;
      if (!sized_body(end + 2 + length + 2, chunk)) return false;
      body += chunk;
      if (length == 0) return true;
    }
  }

 private:
  std::string take(std::size_t length) {
    std::string taken = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return taken;
  }

  const int fd_;
  std::string buffer_;
};

bool read_body(MessageReader& reader, const std::string& head, std::string& body) {
  if (to_lower(header(head, "transfer-encoding")) == "chunked") return reader.chunked_body(body);
  const std::string length = header(head, "content-length");
  return length.empty() || reader.sized_body(std::stoul(length), body);
}

}  // namespace

namespace s3_answers {

std::string error(const std::string& status_line, const std::string& code,
                  const std::string& extra_headers) {
  const std::string body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>" + code +
                           "</Code><Message>Scripted by a test.</Message></Error>";
  return "HTTP/1.1 " + status_line + "\r\nContent-Type: application/xml\r\n" + extra_headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string conditional_request_conflict() {
  return error("409 Conflict", "ConditionalRequestConflict");
}
std::string precondition_failed() {
  return error("412 Precondition Failed", "PreconditionFailed");
}
std::string slow_down(int retry_after_s) {
  return error("503 Slow Down", "SlowDown",
               "Retry-After: " + std::to_string(retry_after_s) + "\r\n");
}
std::string too_many_requests(int retry_after_s) {
  return error("429 Too Many Requests", "TooManyRequests",
               "Retry-After: " + std::to_string(retry_after_s) + "\r\n");
}
std::string internal_error() {
  return error("500 Internal Server Error", "InternalError");
}

}  // namespace s3_answers

FaultProxy::FaultProxy(int upstream_port)
    : upstream_port_(upstream_port),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      ending_(::eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  MUSTER_CHECK(::bind(listener_.get(), generic, length) == 0);
  MUSTER_CHECK(::listen(listener_.get(), 128) == 0);
  MUSTER_CHECK(::getsockname(listener_.get(), generic, &length) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_loop(); });
}

FaultProxy::~FaultProxy() {
  const std::uint64_t one = 1;
  MUSTER_CHECK(::write(ending_.get(), &one, sizeof one) == sizeof one);
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  std::list<std::unique_ptr<Connection>> connections;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    for (const auto& connection : connections_) {
      ::shutdown(connection->client.get(), SHUT_RDWR);
      if (connection->server.valid()) ::shutdown(connection->server.get(), SHUT_RDWR);
    }
    connections.swap(connections_);
  }
  for (const auto& connection : connections) connection->thread.join();
}

void FaultProxy::inject(Fault fault) {
  MutexLock lock(mutex_);
  planned_.push_back(std::move(fault));
}

void FaultProxy::reset() {
  MutexLock lock(mutex_);
  planned_.clear();
  counts_.clear();
  faults_ = 0;
}

int FaultProxy::requests(const std::string& method) {
  MutexLock lock(mutex_);
  return counts_[method];
}

int FaultProxy::faults() {
  MutexLock lock(mutex_);
  return faults_;
}

void FaultProxy::accept_loop() {
  while (true) {
    UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid()) {
      if (errno == EINTR) continue;
      return;
    }
    const int on = 1;
    ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto connection = std::make_unique<Connection>();
    connection->client = std::move(client);
    Connection& started = *connection;
    MutexLock lock(mutex_);
    connections_.push_back(std::move(connection));
    started.thread = std::thread([this, &started] { serve(started); });
  }
}

void FaultProxy::serve(Connection& connection) {
  MessageReader from_client(connection.client.get());
  while (true) {
    Message request;
    request.head = from_client.head();
    if (request.head.empty()) break;
    const auto words = split(request.head, ' ');
    request.method = words.at(0);
    request.target = words.at(1);
    if (!read_body(from_client, request.head, request.body)) break;
    if (!pass(connection, request)) break;
  }
  // The descriptors stay open until the proxy ends, so that no number is used twice meanwhile.
  ::shutdown(connection.client.get(), SHUT_RDWR);
  if (connection.server.valid()) ::shutdown(connection.server.get(), SHUT_RDWR);
}

std::optional<Fault> FaultProxy::take_fault(const Message& request) {
  MutexLock lock(mutex_);
  ++counts_[request.method];
  for (auto it = planned_.begin(); it != planned_.end(); ++it) {
    if (!it->method.empty() && it->method != request.method) continue;
    if (request.target.find(it->path_part) == std::string::npos) continue;
    Fault fault = *it;
    ++faults_;
    if (--it->times == 0) planned_.erase(it);
    return fault;
  }
  return std::nullopt;
}

bool FaultProxy::pass(Connection& connection, const Message& request) {
  using Kind = Fault::Kind;
  const std::optional<Fault> fault = take_fault(request);
  const int client = connection.client.get();
  if (fault && fault->kind == Kind::kAnswer) return send_all(client, fault->answer);
  if (fault && fault->kind == Kind::kClose) return false;
  if (fault && fault->kind == Kind::kStall && !stall(fault->stall)) return false;
  const std::optional<Message> reply = forward(connection, request);
  if (!reply) return false;
  if (fault && fault->kind == Kind::kLoseReply) return false;
  if (fault && fault->kind == Kind::kStallReply && !stall(fault->stall)) return false;
  if (fault && fault->kind == Kind::kTruncateReply) {
    send_all(client, reply->head + reply->body.substr(0, reply->body.size() / 2));
    return false;
  }
  return send_all(client, reply->head + reply->body);
}

std::optional<FaultProxy::Message> FaultProxy::forward(Connection& connection,
                                                       const Message& request) {
  // One server connection for each request: a fault then leaves nothing half read behind.
  UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int fd = server.get();
  {
    MutexLock lock(mutex_);
    if (closed_) return std::nullopt;
    connection.server = std::move(server);
  }
  const sockaddr_in address = loopback(upstream_port_);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return std::nullopt;
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!send_all(fd, request.head) || !send_all(fd, request.body)) return std::nullopt;
  MessageReader from_server(fd);
  Message reply;
  do reply.head = from_server.head();
  while (reply.head.starts_with("HTTP/1.1 100"));
  if (reply.head.empty()) return std::nullopt;
  const bool no_body = request.method == "HEAD" || reply.head.starts_with("HTTP/1.1 204") ||
                       reply.head.starts_with("HTTP/1.1 304");
  if (!no_body && !read_body(from_server, reply.head, reply.body)) return std::nullopt;
  return reply;
}

bool FaultProxy::stall(Duration d) {
  pollfd ending{ending_.get(), POLLIN, 0};
  return ::poll(&ending, 1, static_cast<int>(to_ms(d))) == 0;
}

}  // namespace muster
