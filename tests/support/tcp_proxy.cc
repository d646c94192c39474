#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "tests/support/loopback.h"

namespace muster {
namespace {

void send_at_once(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

TcpProxy::TcpProxy()
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  MUSTER_CHECK(::bind(listener_.get(), generic, size) == 0);
  MUSTER_CHECK(::listen(listener_.get(), 128) == 0);
  MUSTER_CHECK(::getsockname(listener_.get(), generic, &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

TcpProxy::~TcpProxy() {
  {
    MutexLock lock(mutex_);
    state_.ending = true;
  }
  wake();
  thread_.join();
}

void TcpProxy::forward_to(int port) {
  MutexLock lock(mutex_);
  state_.upstream = port;
}

void TcpProxy::cut(bool up, bool down) {
  {
    MutexLock lock(mutex_);
    state_.up_cut = up;
    state_.down_cut = down;
  }
  wake();
}

TcpProxy::State TcpProxy::state() {
  MutexLock lock(mutex_);
  return state_;
}

void TcpProxy::wake() {
  const std::uint64_t one = 1;
  MUSTER_CHECK(::write(wake_.get(), &one, sizeof one) == sizeof one);
}

void TcpProxy::run() {
  while (true) {
    const State now = state();
    if (now.ending) return;
    std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    const auto wanted = [](const Flow& in, bool in_cut, const Flow& out, bool out_cut) {
      const bool reads = !in_cut && !in.ended && in.waiting.empty();
      const bool writes = !out_cut && !out.waiting.empty();
      return static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
    };
    for (const Connection& each : connections_) {
      polled.push_back(
          {each.client.get(), wanted(each.up, now.up_cut, each.down, now.down_cut), 0});
      polled.push_back(
          {each.server.get(), wanted(each.down, now.down_cut, each.up, now.up_cut), 0});
      // A side that is not waited for still reports its end, again and again.
      for (std::size_t i = polled.size() - 2; i < polled.size(); ++i) {
        if (polled[i].events == 0) polled[i].fd = -1;
      }
    }
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    std::uint64_t count = 0;
    if (polled[0].revents != 0) (void)!::read(wake_.get(), &count, sizeof count);
    std::erase_if(connections_, [&](Connection& each) {
      const bool up = now.up_cut || move(each.up, each.client.get(), each.server.get());
      const bool down = now.down_cut || move(each.down, each.server.get(), each.client.get());
      return !up || !down;
    });
    if (polled[1].revents != 0) accept_one(now.upstream);
  }
}

void TcpProxy::accept_one(int upstream) {
  Connection next;
  next.client.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!next.client.valid()) return;
  next.server.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(upstream);
  // On loopback this is done, or refused, at once; a stopped process's kernel answers for it.
  if (::connect(next.server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0)
    return;
  send_at_once(next.client.get());
  send_at_once(next.server.get());
  connections_.push_back(std::move(next));
}

bool TcpProxy::move(Flow& flow, int from, int to) {
  if (flow.waiting.empty() && !flow.ended) {
    std::array<char, 65536> chunk;
    const ssize_t got = ::recv(from, chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got > 0) flow.waiting.assign(chunk.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) flow.ended = true;
  }
  while (!flow.waiting.empty()) {
    const ssize_t sent =
        ::send(to, flow.waiting.data(), flow.waiting.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    flow.waiting.erase(0, static_cast<std::size_t>(sent));
  }
  return !flow.ended;
}

}  // namespace muster
