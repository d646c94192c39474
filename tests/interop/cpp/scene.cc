#include "tests/interop/cpp/scene.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "tests/server/musterd.h"

namespace interop {
namespace {

std::string read(const std::string& file) {
  std::ifstream in(file);
  expect(in.good(), "cannot read " + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string generation(int number) {
  return "00000000-0000-4000-8000-00000000000" + std::to_string(number);
}

}  // namespace

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("unexpected: " + what);
}

void expect(const grpc::Status& status, grpc::StatusCode code) {
  expect(status.error_code() == code,
         "status " + std::to_string(status.error_code()) + ": " + status.error_message());
}

std::string trailer(const grpc::ClientContext& context, const std::string& key) {
  const auto& all = context.GetServerTrailingMetadata();
  const auto found = all.find(key);
  return found == all.end() ? "" : std::string(found->second.data(), found->second.size());
}

pb::NodeInfo node(int number) {
  pb::NodeInfo made;
  made.set_id("n" + std::to_string(number));
  made.set_address("10.0.0.1");
  made.set_port(static_cast<unsigned>(7000 + number));
  made.set_type(pb::NODE_TYPE_OBJECT);
  made.set_generation_id(generation(number));
  return made;
}

pb::HeartbeatBatch beats(unsigned known) {
  pb::HeartbeatBatch made;
  auto& beat = *made.add_heartbeats();
  beat.set_node_id("n1");
  beat.set_known_version(known);
  beat.set_generation_id(generation(1));
  return made;
}

const std::string& value() {
  static const std::string made(250 * 1024, '\0');  // The store takes up to 256 KiB.
  return made;
}

pb::StorePutBatch puts(int count) {
  pb::StorePutBatch made;
  for (int number = 0; number < count; ++number) {
    auto& put = *made.add_puts();
    put.set_key("large/" + std::to_string(number));
    put.set_value(value());
  }
  return made;
}

Scene::Scene(std::vector<std::string> words)
    : words_(std::move(words)),
      channel_(open(server())),
      coordinator_(pb::CoordinatorService::NewStub(channel_)),
      store_(pb::StoreService::NewStub(channel_)),
      health_(grpc::health::v1::Health::NewStub(channel_)) {}

std::shared_ptr<grpc::Channel> Scene::open(const std::string& address, bool certificate) const {
  if (!tls()) return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = read(words_[2]);
  if (certificate) {
    options.pem_cert_chain = read(words_[3]);
    options.pem_private_key = read(words_[4]);
  }
  return grpc::CreateChannel(address, grpc::SslCredentials(options));
}

void Scene::check() {
  Context context;
  pb::HealthCheckResponse answer;
  expect(coordinator_->HealthCheck(&context, {}, &answer), grpc::OK);
}

void Scene::register_node(int number) {
  Context context;
  pb::RegisterNodeRequest request;
  *request.mutable_node() = node(number);
  pb::RegisterNodeResponse answer;
  expect(coordinator_->RegisterNode(&context, request, &answer), grpc::OK);
}

void Scene::await_subscribers(unsigned count) {
  const bool reached = muster::testing::eventually(
      [&] {
        Context context;
        pb::HealthCheckResponse answer;
        expect(coordinator_->HealthCheck(&context, {}, &answer), grpc::OK);
        return answer.watch_subscribers() == count;
      },
      kPatience);
  expect(reached, "there are never " + std::to_string(count) + " watches");
}

grpc::Status Scene::put_all(pb::StoreService::Stub& stub, grpc::ClientContext& context,
                            const pb::StorePutBatch& batch, std::vector<int>& codes) {
  const auto stream = stub.PutStream(&context);
  // What the server says to a batch that it does not take, Finish() tells.
  if (stream->Write(batch)) stream->WritesDone();
  pb::StorePutOutcomes answer;
  while (stream->Read(&answer)) {
    for (const auto& each : answer.outcomes()) codes.push_back(each.code());
  }
  return stream->Finish();
}

}  // namespace interop
