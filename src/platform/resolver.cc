#include "platform/resolver.h"

#include <netdb.h>
#include <sys/un.h>

#include <cstring>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace muster {
namespace {

Result<std::vector<SocketAddress>> look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    return {Errc::kUnavailable, host + " cannot be resolved: " + ::gai_strerror(failed)};
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    address.size = each->ai_addrlen;
    std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
  }
  ::freeaddrinfo(found);
  return addresses;
}

}  // namespace

/// The way back to the loop, for threads that may outlive it.
struct Resolver::Gate {
  Mutex mutex;
  Loop* loop MUSTER_GUARDED_BY(mutex) = nullptr;  ///< Null once nobody waits.
};

Resolver::Resolver(Loop& loop) : loop_(loop), gate_(std::make_shared<Gate>()) {
  MutexLock lock(gate_->mutex);
  gate_->loop = &loop;
}

Resolver::~Resolver() {
  MutexLock lock(gate_->mutex);
  gate_->loop = nullptr;
}

void Resolver::resolve(const std::string& host, std::uint16_t port, Answer answer) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string name = bracketed ? host.substr(1, host.size() - 2) : host;
  const auto deliver = [weak = std::weak_ptr(gate_), answer = std::move(answer)](auto addresses) {
    // On the loop, where a resolver that is there stays there.
    if (!weak.expired()) answer(std::move(addresses));
  };
  if (auto known = look_up(name, port, AI_NUMERICHOST)) {
    return loop_.post([deliver, known = std::move(known)] { deliver(known); });
  }
  // A name server that does not answer holds up this thread for as long as it likes, and nobody
  // else.
  std::thread([gate = gate_, name, port, deliver] {
    auto found = look_up(name, port, 0);
    MutexLock lock(gate->mutex);
    if (gate->loop == nullptr) return;
    gate->loop->post([deliver, found = std::move(found)] { deliver(found); });
  }).detach();
}

Result<SocketAddress> Resolver::local(const std::string& path) {
  SocketAddress address;
  auto& local = reinterpret_cast<sockaddr_un&>(address.bytes);
  if (path.size() >= sizeof local.sun_path)
    return {Errc::kInvalid, path +
                                " is too long for a "
                                "host name"};
  local.sun_family = AF_UNIX;
  std::memcpy(local.sun_path, path.c_str(), path.size() + 1);
  address.size = sizeof local;
  return address;
}

}  // namespace muster
