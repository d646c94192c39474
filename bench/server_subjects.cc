#include "bench/server_subjects.h"

#include <algorithm>

#include "etcd/rpc.pb.h"
#include "muster/v1/coordinator.pb.h"
#include "muster/v1/store.pb.h"

namespace muster::bench {
namespace {

testing::EtcdClusterOptions etcd_options(int members, bool tmpfs) {
  testing::EtcdClusterOptions options;
  options.members = members;
  options.tmpfs = tmpfs;
  // 5,000 watchers and a million puts stay within these.
  options.extra_args = {"--quota-backend-bytes=8000000000", "--snapshot-count=100000"};
  return options;
}

std::string digits(std::size_t number, std::size_t width) {
  const std::string text = std::to_string(number);
  return std::string(width - std::min(width, text.size()), '0') + text;
}

}  // namespace

void expect_ok(const char* what, const CallEnd& end) {
  if (!end.ok()) give_up(what, end.error);
}

namespace {

// One process stands for thousands of clients here, which its limits are not meant for.
std::vector<std::string> without_limits(std::vector<std::string> args) {
  args.insert(args.end(), {"--limits", "off"});
  return args;
}

}  // namespace

ServerPair::ServerPair(int members, bool tmpfs, std::vector<std::string> musterd_args)
    : engine(etcd_options(members, tmpfs)),
      musterd({members, engine.url("bench"), without_limits(std::move(musterd_args))}),
      etcd(etcd_options(members, tmpfs)) {}

std::string key_of(std::size_t number) {
  return "bench/key-" + digits(number, 6);
}

void etcd_put(const LinkPtr& link, std::size_t key, const std::string& value,
              std::function<void()> done) {
  etcdserverpb::PutRequest request;
  request.set_key(key_of(key));
  request.set_value(value);
  unary<etcdserverpb::PutResponse>(
      link, "/etcdserverpb.KV/Put", request, 30s,
      [done = std::move(done)](const CallEnd& status, etcdserverpb::PutResponse&) {
        expect_ok("etcd put", status);
        done();
      });
}

void muster_put(const LinkPtr& link, std::size_t key, const std::string& value,
                std::function<void()> done) {
  v1::StorePutRequest request;
  request.set_key(key_of(key));
  request.set_value(value);
  unary<v1::StorePutResponse>(
      link, "/muster.v1.StoreService/Put", request, 30s,
      [done = std::move(done)](const CallEnd& status, v1::StorePutResponse&) {
        expect_ok("musterd put", status);
        done();
      });
}

std::string node_id(std::size_t number) {
  return "node-" + digits(number, 6);
}

std::string generation_of(std::size_t number) {
  return "00000000-0000-4000-8000-" + digits(number, 12);
}

void register_nodes(RpcPump& pump, const LinkPtr& link, std::size_t begin, std::size_t end) {
  constexpr std::size_t kRegisteredAtOnce = 256;
  std::size_t next = begin;
  std::size_t left = end - begin;
  std::function<void()> one = [&] {
    if (next == end) return;
    v1::RegisterNodeRequest request;
    auto* node = request.mutable_node();
    node->set_id(node_id(next));
    node->set_address("10.0.0.1");
    node->set_port(static_cast<std::uint32_t>(1 + next % 60'000));
    node->set_type(v1::NODE_TYPE_OBJECT);
    node->set_generation_id(generation_of(next++));
    unary<v1::RegisterNodeResponse>(link, "/muster.v1.CoordinatorService/RegisterNode", request,
                                    60s, [&](const CallEnd& status, v1::RegisterNodeResponse&) {
                                      expect_ok("RegisterNode", status);
                                      --left;
                                      one();
                                    });
  };
  for (std::size_t i = 0; i < kRegisteredAtOnce; ++i) one();
  pump.run_until([&] { return left == 0; }, 300s);
}

}  // namespace muster::bench
