#include "store/etcd/address.h"

#include "store/remote/endpoint.h"

namespace muster::etcd {

Result<Address> Address::read(const Url& url) {
  if (url.scheme != "etcd") return {Errc::kInvalid, url.redacted() + " is not an etcd:// address"};
  Address address;
  std::string socket;
  for (const auto& [name, value] : url.query) {
    std::string* const path = name == "socket"   ? &socket
                              : name == "cacert" ? &address.tls.ca
                              : name == "cert"   ? &address.tls.cert
                              : name == "key"    ? &address.tls.key
                                                 : nullptr;
    if (path == nullptr) {
      return {Errc::kInvalid,
              "an etcd address has no option " + name + "; known are socket, cacert, cert and key"};
    }
    if (!value.starts_with('/')) {
      return {Errc::kInvalid, "the " + name + " of an etcd address is an absolute path"};
    }
    *path = value;
  }
  if (url.hosts.empty() == socket.empty()) {
    return {Errc::kInvalid,
            "an etcd address names its members, etcd://host:2379/prefix, or one socket, "
            "etcd:///prefix?socket=/path"};
  }
  if (url.user.empty() && !url.password.empty()) {
    return {Errc::kInvalid, "the etcd address has a password and no user"};
  }
  auto endpoints = remote::with_ports(url.hosts, "2379");
  if (!endpoints) return endpoints.error();
  address.endpoints = std::move(*endpoints);
  if (!socket.empty()) address.endpoints.push_back("unix:" + socket);
  return address;
}

}  // namespace muster::etcd
