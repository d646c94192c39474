#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/child_process.h"

namespace muster {

/// Ceph's radosgw as a child, a real S3 on loopback with one bucket and one user. Needs root and
/// Debian's ceph-mon, ceph-osd and radosgw. One takes about 2 s and 150 MB, so a test program has
/// one for all its tests: shared().
///
/// It ends with this process, however that ends. A failure to start ends the process with a
/// sentence. One thread at a time.
class RadosGateway {
 public:
  RadosGateway();
  ~RadosGateway();
  RadosGateway(const RadosGateway&) = delete;
  RadosGateway& operator=(const RadosGateway&) = delete;

  /// The server of this test program, started at the first call, ended at its exit.
  static RadosGateway& shared();

  /// The port of the first gateway, and of a second one on the same data, started when first asked
  /// for.
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] int second_port();

  void kill(int port);    ///< SIGKILL; the data stays.
  void start(int port);   ///< Once more, after kill().
  void hang(int port);    ///< SIGSTOP: connections stay open and nothing answers.
  void resume(int port);  ///< SIGCONT.

  /// s3://bucket/prefix?endpoint=… by way of `port`, a gateway's or a proxy's.
  [[nodiscard]] std::string url(const std::string& prefix, int port) const;
  [[nodiscard]] std::string url(const std::string& prefix) const { return url(prefix, port_); }

  /// Where a gateway answers Ceph's own questions about itself.
  [[nodiscard]] std::string admin_socket(int port) const;

  static constexpr const char* kBucket = "muster";
  static constexpr const char* kAccessKey = "muster-test-key";
  static constexpr const char* kSecretKey = "muster-test-secret";

 private:
  [[nodiscard]] bool try_start();
  void script(const std::string& command, int port);

  std::unique_ptr<TempDir> dir_;
  std::unique_ptr<ChildProcess> server_;
  int port_ = 0;
  int second_port_ = 0;
};

}  // namespace muster
