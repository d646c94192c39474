#include "store/postgres/server_finder.h"

#include <netdb.h>

#include <array>
#include <iterator>
#include <utility>

#include "store/postgres/link.h"

namespace muster::postgres {
namespace {

Result<std::string> numeric(const SocketAddress& address) {
  std::array<char, NI_MAXHOST> text{};
  const int failed = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address.bytes), address.size,
                                   text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  if (failed != 0) return {Errc::kUnavailable, ::gai_strerror(failed)};
  return std::string(text.data());
}

}  // namespace

void ServerFinder::find(const DatabaseAddress& address, Found found) {
  found_ = std::move(found);
  std::vector<Host> hosts = address.hosts;
  if (hosts.empty()) {
    const Defaults known = defaults(pq_, address.parameters);
    hosts = host_list(known.hosts, known.ports);
    // libpq knows the directory of its own socket.
    if (hosts.empty()) hosts.push_back({"", known.ports});
  }
  targets_.assign(hosts.size(), {});
  looked_up_ = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    targets_[i].push_back({hosts[i]});
    if (hosts[i].name.empty() || hosts[i].is_socket()) {
      loop_.post(lifetime_.wrap([this, i] { resolved(i, std::vector<SocketAddress>()); }));
    } else {
      resolver_.resolve(hosts[i].name, 0,
                        [this, i](const auto& addresses) { resolved(i, addresses); });
    }
  }
}

void ServerFinder::resolved(std::size_t host, const Result<std::vector<SocketAddress>>& addresses) {
  std::vector<Target>& targets = targets_[host];
  if (!addresses) {
    failure_ = addresses.error().message;
    targets.clear();
  } else if (!addresses->empty()) {
    const Host name = targets[0].host;
    targets.clear();
    for (const SocketAddress& each : *addresses) {
      if (auto address = numeric(each)) targets.push_back({name, std::move(*address)});
    }
  }
  if (++looked_up_ < targets_.size()) return;
  std::vector<Target> all;
  for (auto& each : targets_) std::move(each.begin(), each.end(), std::back_inserter(all));
  targets_.clear();
  const Found found = std::exchange(found_, nullptr);
  if (all.empty()) return found(Error{Errc::kUnavailable, failure_});
  found(std::move(all));
}

}  // namespace muster::postgres
