#include "tests/server/tls_scene.h"

#include <grpcpp/generic/generic_stub.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "core/security/identity.h"
#include "platform/system_clock.h"

namespace muster::testing {
namespace {

WallTime an_hour_ago() {
  return std::chrono::floor<std::chrono::seconds>(system_wall_now()) - 1h;
}

}  // namespace

grpc::Status ask_empty(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                       Duration timeout) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  Context context(timeout);
  const grpc::ByteBuffer request(nullptr, 0);
  grpc::ByteBuffer response;
  grpc::Status status;
  const auto reader = stub.PrepareUnaryCall(&context, method, request, &queue);
  reader->StartCall();
  reader->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return status;
}

TlsScene::TlsScene() : now_(an_hour_ago()), ca_(now_), admin_(client("admin", "op")) {
  write_file("ca.crt", ca_.pem());
  write_file("crl", next_list({}));
  for (const char* id : {"s1", "s2"}) write(id, server_pair(id));
}

pki::CertificateOrder TlsScene::order(const std::string& role, const std::string& id) const {
  pki::CertificateOrder made{id, {}, {"10.0.0.1"}, {"muster:role:" + role}};
  made.not_before = now_;
  made.not_after = now_ + 24h;
  return made;
}

TlsScene::Pair TlsScene::server_pair(const std::string& id, const std::string& address) const {
  pki::CertificateOrder made = order("server", id);
  made.dns_names = {security::kServerName};
  made.ip_addresses = {address};
  made.use = pki::CertificateOrder::Use::kServerAndClient;
  return ca_.issue(made);
}

void TlsScene::write(const std::string& id, const Pair& pair) const {
  write_file(id + ".crt", pair.certificate);
  write_file(id + ".key", pair.key);
}

void TlsScene::write_file(const std::string& name, const std::string& bytes) const {
  // As a whole: a server may be reading.
  std::ofstream(file(name + ".new"), std::ios::trunc) << bytes;
  std::filesystem::rename(file(name + ".new"), file(name));
}

std::string TlsScene::next_list(const std::vector<std::string>& serials) {
  return ca_.list(serials, std::chrono::seconds(++lists_));
}

std::vector<std::string> TlsScene::words(const std::string& id,
                                         std::vector<std::string> more) const {
  std::vector<std::string> all{"--cert",   file(id + ".crt"), "--key",      file(id + ".key"),
                               "--cacert", file("ca.crt"),    "--data-dir", file("data-" + id)};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::unique_ptr<Musterd> TlsScene::start(const std::string& id, std::vector<std::string> more,
                                         bool wait) {
  return std::make_unique<Musterd>(id, "file://" + file("store"), dir_.path(),
                                   words(id, std::move(more)), wait, MusterdPlace{}, pem(admin_));
}

grpc::Status TlsScene::ask(const Musterd& server, const std::optional<ClientPem>& shown) const {
  const auto stub = v1::CoordinatorService::NewStub(open_channel(server.address(), shown));
  Context context(20s, false);
  v1::HealthCheckResponse response;
  return stub->HealthCheck(&context, {}, &response);
}

}  // namespace muster::testing
