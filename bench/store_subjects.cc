#include "bench/store_subjects.h"

#include <sys/vfs.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>

#include "base/check.h"
#include "base/text.h"
#include "bench/gateway_count.h"
#include "platform/http/http_client.h"
#include "platform/system_clock.h"
#include "store/file/file_store.h"
#include "store/open/open.h"
#include "store/probe.h"

namespace muster::bench {
namespace {

[[noreturn]] void give_up(const std::string& name, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), error.message.c_str());
  std::exit(1);
}

/// etcd counts the calls to each of its services; a transaction is one.
std::uint64_t etcd_requests(const std::string& endpoint) {
  LoopThread thread;
  std::unique_ptr<HttpClient> client;
  std::promise<Result<HttpResponse>> answer;
  thread.run([&] {
    client = std::make_unique<HttpClient>(thread.loop());
    HttpRequest request;
    request.url = "http://" + endpoint + "/metrics";
    request.by = thread.loop().now() + 10s;
    request.direct = true;
    client->send(std::move(request),
                 [&](Result<HttpResponse> response) { answer.set_value(std::move(response)); });
  });
  const Result<HttpResponse> response = answer.get_future().get();
  thread.run([&] { client.reset(); });
  if (!response) give_up("etcd metrics", response.error());
  double sum = 0;
  for (const std::string_view line : split(response->body, '\n')) {
    const bool counts = line.starts_with("grpc_server_started_total{") &&
                        line.find("grpc_service=\"etcdserverpb.KV\"") != line.npos;
    if (counts) sum += std::strtod(std::string(line.substr(line.rfind(' '))).c_str(), nullptr);
  }
  return static_cast<std::uint64_t>(sum);
}

}  // namespace

Subject::Subject(std::string name, const std::string& url) : name_(std::move(name)) {
  std::promise<Status> probed;
  Random random = system_random();
  thread_.run([&] {
    auto store = open_store(url, thread_.loop(), {});
    if (!store) give_up(name_, store.error());
    store_ = std::move(*store);
    probe_store(*store_, thread_.loop(), random, 10s,
                [&](Status safe) { probed.set_value(std::move(safe)); });
  });
  if (const Status safe = probed.get_future().get(); !safe) give_up(name_, safe.error());
}

Subject::~Subject() {
  thread_.run([this] { store_.reset(); });
}

std::uint64_t Subject::syncs() {
  std::uint64_t syncs = 0;
  thread_.run([&] {
    if (const auto* file = dynamic_cast<const FileStore*>(store_.get())) {
      syncs = file->stats().syncs;
    }
  });
  return syncs;
}

Stores::Stores() {
  ::setenv("AWS_ACCESS_KEY_ID", RadosGateway::kAccessKey, 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", RadosGateway::kSecretKey, 1);
  ::unsetenv("AWS_SESSION_TOKEN");
}

std::unique_ptr<Subject> Stores::memory() {
  return std::make_unique<Subject>("memory", "memory:");
}

std::unique_ptr<Subject> Stores::file_on_tmpfs() {
  return std::make_unique<Subject>("file, sync=off, tmpfs",
                                   "file://" + (tmpfs_.path() / "quick").string() + "?sync=off");
}

std::unique_ptr<Subject> Stores::file_without_sync() {
  return std::make_unique<Subject>("file, sync=off",
                                   "file://" + (dir_.path() / "quick").string() + "?sync=off");
}

std::unique_ptr<Subject> Stores::file() {
  return std::make_unique<Subject>("file", "file://" + (dir_.path() / "durable").string());
}

std::unique_ptr<Subject> Stores::s3() {
  auto subject = std::make_unique<Subject>("S3 (radosgw)", gateway_.url("bench"));
  subject->requests = [socket = gateway_.admin_socket(gateway_.port())] {
    return count_requests(socket).requests;
  };
  return subject;
}

std::unique_ptr<Subject> Stores::etcd() {
  auto subject = std::make_unique<Subject>("etcd (1 member)", etcd_.url("bench"));
  subject->requests = [endpoint = etcd_.endpoint(0)] { return etcd_requests(endpoint); };
  return subject;
}

std::unique_ptr<Subject> Stores::postgres() {
  auto subject = std::make_unique<Subject>("PostgreSQL, tmpfs", postgres_.url("bench"));
  // Each statement is a transaction. Those of the last second may not have been counted yet.
  subject->requests = [this] {
    return std::strtoull(
        postgres_.sql("SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'")
            .c_str(),
        nullptr, 10);
  };
  return subject;
}

std::string Stores::file_system() const {
  static const std::map<long, std::string> kNames = {{0xEF53, "ext4"},
                                                     {0x01021994, "tmpfs"},
                                                     {0x58465342, "xfs"},
                                                     {0x9123683E, "btrfs"},
                                                     {0x794C7630, "overlayfs"}};
  struct statfs info {};
  MUSTER_CHECK(::statfs(dir_.path().c_str(), &info) == 0);
  const auto name = kNames.find(static_cast<long>(info.f_type));
  return name == kNames.end() ? "file system " + std::to_string(info.f_type) : name->second;
}

}  // namespace muster::bench
