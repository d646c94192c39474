#include "tests/support/cables.h"

#include <sched.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace muster::testing {
namespace {

/// Lets addresses of 127.0.0.0/8 other than 127.0.0.1 be those of other hosts.
const std::string kOpenLoopback =
    "sysctl -qw net.ipv4.conf.all.route_localnet=1 net.ipv4.conf.default.route_localnet=1 && "
    "ip link set lo up && ip route del local 127.0.0.0/8 dev lo table local";

const char* name(Cables::Net net) {
  return net == Cables::Net::kRpc ? "rpc" : "raft";
}

std::string cable(Cables::Net net, int host) {
  return name(net) + std::to_string(host);
}

std::string host_address(Cables::Net net, int host) {
  return (net == Cables::Net::kRpc ? "127.9.0." : "127.8.0.") + std::to_string(11 + host);
}

bool succeeds(std::vector<std::string> words, const std::string& script) {
  words.insert(words.end(), {"sh", "-c", script});
  return run_program(words) == 0;
}

void must(const std::vector<std::string>& words, const std::string& script) {
  if (!succeeds(words, script)) throw std::runtime_error("failed: " + script);
}

}  // namespace

Status Cables::enter() {
  if (::unshare(CLONE_NEWNET) != 0) {
    return {Errc::kDenied, std::string("no network of its own: ") + std::strerror(errno)};
  }
  if (!succeeds({}, kOpenLoopback + " && ip link add rpc type bridge && ip link set rpc up && " +
                        "ip addr add 127.9.0.1/24 dev rpc && ip link add raft type bridge && " +
                        "ip link set raft up")) {
    return {Errc::kDenied, "the network cannot be set up; it needs root and iproute2"};
  }
  return Done{};
}

Cables::Cables(int hosts) {
  for (int i = 0; i < hosts; ++i) {
    auto holder = std::make_unique<ChildProcess>(std::vector<std::string>{"unshare", "-n", "cat"});
    holder->write_line("there");
    if (holder->read_line() != "there") throw std::runtime_error("no namespace for a host");
    hosts_.push_back(std::move(holder));
    must(on(i), kOpenLoopback);
    for (const Net net : {Net::kRpc, Net::kRaft}) {
      must({}, "ip link add " + cable(net, i) + " type veth peer name " + name(net) + " netns " +
                   std::to_string(hosts_.back()->pid()) + " && ip link set " + cable(net, i) +
                   " up");
      must(on(i), "ip addr add " + host_address(net, i) + "/24 dev " + name(net) +
                      " && ip link set " + name(net) + " up");
      plug(net, i);
    }
  }
}

// A namespace goes some time after its last process; the next ones have the same names.
Cables::~Cables() {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    for (const Net net : {Net::kRpc, Net::kRaft}) {
      run_program({"ip", "link", "del", cable(net, static_cast<int>(i))});
    }
  }
}

std::string Cables::address(Net net, int host) const {
  return host_address(net, host);
}

std::vector<std::string> Cables::on(int host) const {
  const pid_t pid = hosts_.at(static_cast<std::size_t>(host))->pid();
  return {"nsenter", "--net=/proc/" + std::to_string(pid) + "/ns/net"};
}

void Cables::pull(Net net, int host) {
  must({}, "ip link set " + cable(net, host) + " nomaster");
}

void Cables::plug(Net net, int host) {
  must({}, "ip link set " + cable(net, host) + " master " + name(net));
}

}  // namespace muster::testing
