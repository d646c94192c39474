#include "tests/support/radosgw.h"

#include <signal.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "base/check.h"
#include "platform/system_clock.h"

namespace muster {
namespace {

const std::string kScript = std::string(MUSTER_SOURCE_DIR) + "/tools/testing/radosgw.sh";

const std::vector<std::string> kEnvironment = {
    std::string("MUSTER_S3_BUCKET=") + RadosGateway::kBucket,
    std::string("AWS_ACCESS_KEY_ID=") + RadosGateway::kAccessKey,
    std::string("AWS_SECRET_ACCESS_KEY=") + RadosGateway::kSecretKey,
};

}  // namespace

RadosGateway& RadosGateway::shared() {
  static RadosGateway instance;
  return instance;
}

RadosGateway::RadosGateway() {
  // Ports are chosen, not held: another process may come first, and then others are tried.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (try_start()) return;
  }
  std::fprintf(stderr, "radosgw did not start; it needs root, ceph-mon, ceph-osd and radosgw\n");
  MUSTER_CHECK(server_ != nullptr);
}

RadosGateway::~RadosGateway() = default;

bool RadosGateway::try_start() {
  dir_ = std::make_unique<TempDir>();
  port_ = free_port();
  // Ceph binds a range; below the kernel's ephemeral ports it meets nobody but its like.
  Random random = system_random();
  const auto mon_port = 10000 + random.below(800) * 25;
  server_ = std::make_unique<ChildProcess>(
      std::vector<std::string>{kScript, "serve", dir_->path().string(), std::to_string(port_),
                               std::to_string(mon_port)},
      kEnvironment);
  if (server_->read_line() == "ready") return true;
  server_.reset();
  return false;
}

int RadosGateway::second_port() {
  if (second_port_ == 0) {
    second_port_ = free_port();
    start(second_port_);
  }
  return second_port_;
}

void RadosGateway::script(const std::string& command, int port) {
  MUSTER_CHECK(run_program({kScript, command, dir_->path().string(), std::to_string(port)},
                           kEnvironment) == 0);
}
void RadosGateway::kill(int port) {
  // At once: starting the script takes as long as many requests do. It then waits for the end.
  pid_t pid = 0;
  std::ifstream(dir_->path() / ("gateway-" + std::to_string(port) + ".pid")) >> pid;
  MUSTER_CHECK(pid > 0);
  ::kill(pid, SIGKILL);
  script("kill", port);
}
void RadosGateway::start(int port) {
  script("gateway", port);
}
void RadosGateway::hang(int port) {
  script("hang", port);
}
void RadosGateway::resume(int port) {
  script("resume", port);
}

std::string RadosGateway::url(const std::string& prefix, int port) const {
  return std::string("s3://") + kBucket + "/" + prefix +
         "?endpoint=http://127.0.0.1:" + std::to_string(port) + "&region=us-east-1&style=path";
}

std::string RadosGateway::admin_socket(int port) const {
  return dir_->path() / ("client.rgw." + std::to_string(port) + ".asok");
}

}  // namespace muster
