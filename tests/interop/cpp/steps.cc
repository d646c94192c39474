#include <grpcpp/generic/generic_stub.h>

#include <iostream>

#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "tests/interop/cpp/scene.h"
#include "tests/server/musterd.h"

namespace interop {
namespace {

std::string unary(Scene& scene) {
  grpc::ClientContext one;
  pb::RegisterNodeRequest request;
  *request.mutable_node() = node(1);
  pb::RegisterNodeResponse answer;
  expect(scene.coordinator().RegisterNode(&one, request, &answer), grpc::OK);
  expect(answer.topology_version() == 1, answer.ShortDebugString());
  grpc::ClientContext two;
  pb::GetTopologyRequest all;
  all.set_linearizable(true);
  pb::GetTopologyResponse seen;
  expect(scene.coordinator().GetTopology(&two, all, &seen), grpc::OK);
  expect(seen.object_nodes_size() == 1 && seen.object_nodes(0).id() == "n1",
         seen.ShortDebugString());
  return {};
}

std::string deadline_met(Scene& scene) {
  scene.check();
  return {};
}

std::string server_stream(Scene& scene) {
  Context context;
  const auto watch = scene.coordinator().WatchTopology(&context, {});
  pb::TopologyUpdate update;
  expect(watch->Read(&update) && update.has_full_sync(), update.ShortDebugString());
  scene.register_node(2);
  expect(watch->Read(&update) && update.node_added().id() == "n2", update.ShortDebugString());
  context.TryCancel();
  expect(watch->Finish(), grpc::CANCELLED);
  return {};
}

/// Each message waits for the answer to the one before.
std::string bidirectional_stream(Scene& scene) {
  Context context;
  const auto stream = scene.coordinator().HeartbeatStream(&context);
  pb::HeartbeatBatchResponse answer;
  for (unsigned known = 0; known < 3; ++known) {
    expect(stream->Write(beats(known)) && stream->Read(&answer), "no answer");
    expect(answer.leader_id() == "s1" && answer.refused_size() == 0, answer.ShortDebugString());
  }
  stream->WritesDone();
  expect(!stream->Read(&answer), "an answer to nothing");
  expect(stream->Finish(), grpc::OK);
  return {};
}

/// Everything is sent and the request ended before an answer is read.
std::string half_close(Scene& scene) {
  Context context;
  const auto stream = scene.coordinator().HeartbeatStream(&context);
  for (int i = 0; i < 100; ++i) expect(stream->Write(beats(0)), "not sent");
  stream->WritesDone();
  pb::HeartbeatBatchResponse answer;
  int count = 0;
  while (stream->Read(&answer)) ++count;
  expect(stream->Finish(), grpc::OK);
  expect(count == 100, std::to_string(count));
  return {};
}

std::string cancellation(Scene& scene) {
  grpc::ClientContext context;
  const auto watch = scene.coordinator().WatchTopology(&context, {});
  pb::TopologyUpdate update;
  expect(watch->Read(&update), "nothing came");
  scene.await_subscribers(1);
  context.TryCancel();
  expect(!watch->Read(&update), update.ShortDebugString());
  expect(watch->Finish(), grpc::CANCELLED);
  scene.await_subscribers(0);
  return {};
}

std::string deadline_exceeded(Scene& scene) {
  Context context(300ms);
  const auto watch = scene.coordinator().WatchTopology(&context, {});
  pb::TopologyUpdate update;
  while (watch->Read(&update)) {
  }
  expect(watch->Finish(), grpc::DEADLINE_EXCEEDED);
  scene.await_subscribers(0);
  return {};
}

/// About 6 KB, any byte in one of them; and the name of the request, which the server logs.
std::string metadata(Scene& scene) {
  Context context;
  for (int i = 0; i < 45; ++i) {
    context.AddMetadata("x-interop-" + std::to_string(i), std::string(60, 'v'));
  }
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every.push_back(static_cast<char>(byte));
  context.AddMetadata("x-interop-bin", every);
  context.AddMetadata("muster-request-id", "interop-request");
  pb::StorePutRequest request;
  request.set_key("metadata");
  pb::StorePutResponse answer;
  expect(scene.store().Put(&context, request, &answer), grpc::OK);
  return {};
}

std::string metadata_over_limit(Scene& scene) {
  Context context;
  context.AddMetadata("x-interop", std::string(12000, 'v'));
  pb::HealthCheckResponse answer;
  const grpc::Status status = scene.coordinator().HealthCheck(&context, {}, &answer);
  scene.check();
  if (status.error_code() == grpc::RESOURCE_EXHAUSTED) return "RESOURCE_EXHAUSTED";
  return std::to_string(status.error_code());
}

std::string large_request(Scene& scene) {
  Context context;
  std::vector<int> codes;
  expect(scene.put_all(scene.store(), context, puts(8), codes), grpc::OK);
  expect(codes == std::vector<int>(8, 0), std::to_string(codes.size()) + " outcomes");
  return {};
}

std::string large_answer(Scene& scene) {
  int count = 0;
  pb::StoreListRequest request;
  request.set_prefix("large/");
  request.set_with_values(true);
  for (bool more = true; more;) {
    Context context;
    pb::StoreListResponse page;
    expect(scene.store().List(&context, request, &page), grpc::OK);
    for (const auto& each : page.objects()) {
      expect(each.value() == value(), each.key());
      request.set_after(each.key());
      ++count;
    }
    more = page.more();
  }
  expect(count == 8, std::to_string(count));
  return {};
}

std::string too_large_request(Scene& scene) {
  Context context;
  std::vector<int> codes;
  expect(scene.put_all(scene.store(), context, puts(9), codes), grpc::RESOURCE_EXHAUSTED);
  scene.check();
  return {};
}

std::string compressed_request(Scene& scene) {
  Context context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  pb::StorePutRequest request;
  request.set_key("gzip");
  request.set_value(value());
  pb::StorePutResponse answer;
  const grpc::Status status = scene.store().Put(&context, request, &answer);
  expect(status, grpc::UNIMPLEMENTED);
  expect(status.error_message().find("identity") != std::string::npos, status.error_message());
  return {};
}

std::string not_found(Scene& scene) {
  Context context;
  pb::StoreGetRequest request;
  request.set_key("no/such");
  pb::StoreGetResponse answer;
  const grpc::Status status = scene.store().Get(&context, request, &answer);
  expect(status, grpc::NOT_FOUND);
  expect(!status.error_message().empty(), "no message");
  expect(trailer(context, "muster-server") == "s1", "muster-server");
  return {};
}

std::string invalid_argument(Scene& scene) {
  Context context;
  pb::RegisterNodeRequest request;
  *request.mutable_node() = node(1);
  request.mutable_node()->set_id("100% wrong");
  pb::RegisterNodeResponse answer;
  const grpc::Status status = scene.coordinator().RegisterNode(&context, request, &answer);
  expect(status, grpc::INVALID_ARGUMENT);
  expect(status.error_message().find("node id \"100% wrong\" must be") != std::string::npos,
         status.error_message());
  return {};
}

std::string leader_address(Scene& scene) {
  const auto stub = pb::StoreService::NewStub(scene.open(scene.standby()));
  Context context;
  std::vector<int> codes;
  expect(scene.put_all(*stub, context, puts(1), codes), grpc::FAILED_PRECONDITION);
  expect(trailer(context, "leader-address") == scene.server(), "leader-address");
  expect(trailer(context, "muster-server") == "s2", "muster-server");
  return {};
}

std::string unknown(Scene& scene, const std::string& method) {
  grpc::GenericStub stub(scene.channel());
  grpc::CompletionQueue queue;
  Context context;
  const auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(nullptr, 0), &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  expect(status, grpc::UNIMPLEMENTED);
  return {};
}

std::string health_check(Scene& scene) {
  Context one;
  grpc::health::v1::HealthCheckRequest request;
  grpc::health::v1::HealthCheckResponse answer;
  expect(scene.health().Check(&one, request, &answer), grpc::OK);
  expect(answer.status() == grpc::health::v1::HealthCheckResponse::SERVING, "not serving");
  Context two;
  request.set_service("no.such");
  expect(scene.health().Check(&two, request, &answer), grpc::NOT_FOUND);
  return {};
}

std::string health_watch(Scene& scene) {
  Context context;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("muster.v1.StoreService");
  const auto watch = scene.health().Watch(&context, request);
  grpc::health::v1::HealthCheckResponse first;
  expect(watch->Read(&first), "nothing came");
  expect(first.status() == grpc::health::v1::HealthCheckResponse::SERVING, "not serving");
  context.TryCancel();
  expect(watch->Finish(), grpc::CANCELLED);
  return {};
}

std::string reflection(Scene& scene) {
  using grpc::reflection::v1alpha::ServerReflection;
  const auto stub = ServerReflection::NewStub(scene.channel());
  Context context;
  const auto stream = stub->ServerReflectionInfo(&context);
  grpc::reflection::v1alpha::ServerReflectionRequest request;
  request.set_list_services("*");
  stream->Write(request);
  request.set_file_containing_symbol("muster.v1.StoreService");
  stream->Write(request);
  stream->WritesDone();
  grpc::reflection::v1alpha::ServerReflectionResponse services;
  grpc::reflection::v1alpha::ServerReflectionResponse file;
  expect(stream->Read(&services) && stream->Read(&file), "no answer");
  expect(services.DebugString().find("muster.v1.CoordinatorService") != std::string::npos,
         services.ShortDebugString());
  expect(file.SerializeAsString().find("muster/v1/store.proto") != std::string::npos,
         file.ShortDebugString());
  expect(stream->Finish(), grpc::OK);
  return {};
}

/// More than the 1,000 streams that a connection takes at once: the others wait here.
std::string concurrent_calls(Scene& scene) {
  struct One {
    Context context;
    pb::HealthCheckResponse answer;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<pb::HealthCheckResponse>> reader;
  };
  grpc::CompletionQueue queue;
  std::vector<One> calls(1200);
  for (One& call : calls) {
    call.reader = scene.coordinator().AsyncHealthCheck(&call.context, {}, &queue);
    call.reader->Finish(&call.answer, &call.status, &call);
  }
  void* tag = nullptr;
  bool ok = false;
  for (std::size_t i = 0; i < calls.size(); ++i) queue.Next(&tag, &ok);
  for (const One& call : calls) expect(call.status, grpc::OK);
  return {};
}

std::string without_certificate(Scene& scene) {
  const auto stub = pb::CoordinatorService::NewStub(scene.open(scene.server(), false));
  Context context;
  pb::HealthCheckResponse answer;
  expect(stub->HealthCheck(&context, {}, &answer), grpc::UNAVAILABLE);
  return {};
}

/// The test restarts the server when it reads "restart".
std::string stream_ends_with_server(Scene& scene) {
  grpc::ClientContext context;
  const auto watch = scene.coordinator().WatchTopology(&context, {});
  pb::TopologyUpdate update;
  expect(watch->Read(&update), "nothing came");
  std::cout << "restart" << std::endl;
  while (watch->Read(&update)) {
  }
  expect(watch->Finish(), grpc::UNAVAILABLE);
  return {};
}

/// On the same channel. A server that stops or starts answers UNAVAILABLE: nothing was changed.
std::string goes_on_after_restart(Scene& scene) {
  const bool done = muster::testing::eventually(
      [&] {
        Context context(2 * kPatience);
        context.set_wait_for_ready(true);
        pb::StorePutRequest request;
        request.set_key("after");
        pb::StorePutResponse answer;
        const grpc::Status status = scene.store().Put(&context, request, &answer);
        if (!status.ok()) expect(status, grpc::UNAVAILABLE);
        return status.ok();
      },
      2 * kPatience);
  expect(done, "the server does not come back");
  return {};
}

}  // namespace

std::vector<Step> steps(bool tls) {
  std::vector<Step> all{
      {"unary", unary},
      {"deadline_met", deadline_met},
      {"server_stream", server_stream},
      {"bidirectional_stream", bidirectional_stream},
      {"half_close", half_close},
      {"cancellation", cancellation},
      {"deadline_exceeded", deadline_exceeded},
      {"metadata", metadata},
      {"metadata_over_limit", metadata_over_limit},
      {"large_request", large_request},
      {"large_answer", large_answer},
      {"too_large_request", too_large_request},
      {"compressed_request", compressed_request},
      {"not_found", not_found},
      {"invalid_argument", invalid_argument},
      {"leader_address", leader_address},
      {"unknown_method", [](Scene& s) { return unknown(s, "/muster.v1.StoreService/NoSuch"); }},
      {"unknown_service", [](Scene& s) { return unknown(s, "/no.such.Service/Get"); }},
      {"health_check", health_check},
      {"health_watch", health_watch},
      {"reflection", reflection},
      {"concurrent_calls", concurrent_calls}};
  if (tls) all.push_back({"without_certificate", without_certificate});
  all.push_back({"stream_ends_with_server", stream_ends_with_server});
  all.push_back({"goes_on_after_restart", goes_on_after_restart});
  return all;
}

}  // namespace interop
