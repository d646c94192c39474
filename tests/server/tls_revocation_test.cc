#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/mutex.h"
#include "platform/system_clock.h"
#include "platform/testing/scripted_http_server.h"
#include "tests/server/tls_scene.h"

namespace muster::testing {
namespace {

using grpc::StatusCode;

/// An open watch of one client, read on a thread of its own until it ends.
class OpenWatch {
 public:
  OpenWatch(const std::string& address, const ClientPem& pem)
      : stub_(v1::CoordinatorService::NewStub(open_channel(address, pem))),
        thread_([this] { read(); }) {}
  ~OpenWatch() {
    context_.TryCancel();
    thread_.join();
  }
  [[nodiscard]] bool open() const { return updates_ > 0 && !ended_; }
  [[nodiscard]] bool ended() const { return ended_; }
  /// After it has ended.
  [[nodiscard]] StatusCode code() const { return code_; }

 private:
  void read() {
    const auto reader = stub_->WatchTopology(&context_, {});
    v1::TopologyUpdate update;
    while (reader->Read(&update)) ++updates_;
    code_ = reader->Finish().error_code();
    ended_ = true;
  }

  std::unique_ptr<v1::CoordinatorService::Stub> stub_;
  grpc::ClientContext context_;
  std::atomic<int> updates_{0};
  std::atomic<StatusCode> code_{StatusCode::OK};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

using TlsRevocationTest = TlsScene;

// T22: revoked while it watches; the others do not notice.
TEST_F(TlsRevocationTest, ARevokedCertificatesOpenStreamsEndAndNobodyElses) {
  const Pair first = client("node", "n1");
  const Pair second = client("node", "n2");
  const auto server = start("s1", {"--crl-file", file("crl")});
  const OpenWatch ends(server->address(), pem(first));
  const OpenWatch stays(server->address(), pem(second));
  ASSERT_TRUE(eventually([&] { return ends.open() && stays.open(); }));

  write_file("crl", next_list({first.serial}));
  const MonoTime loaded = boot_now();
  server->reload();
  ASSERT_TRUE(eventually([&] { return ends.ended(); }));
  RecordProperty("ended_after_ms", std::to_string(to_ms(boot_now() - loaded)));
  EXPECT_EQ(ends.code(), StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(stays.open());
  EXPECT_FALSE(lets_in(*server, first));
  EXPECT_TRUE(lets_in(*server, second));
}

/// Serves lists over HTTP as the test says.
class ListServer {
 public:
  void serve(ScriptedHttpServer::Reply reply) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    reply_ = std::move(reply);
  }
  [[nodiscard]] std::string url() const { return http_.url() + "/crl.pem"; }

 private:
  Mutex mutex_;
  ScriptedHttpServer::Reply reply_ GUARDED_BY(mutex_);
  ScriptedHttpServer http_{[this](const ScriptedHttpServer::Request&) {
    const MutexLock lock(mutex_);
    return reply_;
  }};
};

// T22, P11: fails closed after the maximum age, and recovers by itself.
TEST_F(TlsRevocationTest, AListServerThatDiesServesGarbageOrAnOldListAndRecovers) {
  using Fault = ScriptedHttpServer::Fault;
  const Pair good = client("node", "n1");
  const Pair bad = client("node", "n2");
  ListServer lists;
  const std::string old = next_list({});
  lists.serve({.body = old});
  const auto server =
      start("s1", {"--crl-url", lists.url(), "--crl-refresh", "500ms", "--crl-max-age", "3s"});
  ASSERT_TRUE(eventually([&] { return lets_in(*server, good); }));

  const std::string newer = next_list({bad.serial});
  lists.serve({.body = newer});
  ASSERT_TRUE(eventually([&] { return !lets_in(*server, bad); }));
  // An old list brings nobody back; while it is all there is, the door closes.
  lists.serve({.body = old});
  EXPECT_TRUE(eventually([&] { return !lets_in(*server, good); }));
  EXPECT_FALSE(lets_in(*server, bad));
  lists.serve({.body = newer});
  EXPECT_TRUE(eventually([&] { return lets_in(*server, good); }));
  EXPECT_FALSE(lets_in(*server, bad));

  const OpenWatch watch(server->address(), pem(good));
  ASSERT_TRUE(eventually([&] { return watch.open(); }));
  for (const ScriptedHttpServer::Reply& trouble :
       {ScriptedHttpServer::Reply{.fault = Fault::kClose},
        ScriptedHttpServer::Reply{.body = "-----BEGIN X509 CRL-----\ngarbage\n"}}) {
    lists.serve(trouble);
    EXPECT_TRUE(eventually([&] { return !lets_in(*server, good); }));
    EXPECT_TRUE(eventually([&] { return watch.ended(); })) << "open calls fail closed, too";
    lists.serve({.body = newer});
    EXPECT_TRUE(eventually([&] { return lets_in(*server, good); }));
  }
  EXPECT_NE(server->log().find("revocation list not renewed"), std::string::npos);
  EXPECT_NE(server->log().find("every certificate is refused"), std::string::npos);
}

}  // namespace
}  // namespace muster::testing
