#include "tests/run/judge.h"

#include <fcntl.h>

#include <mutex>
#include <utility>

#include "base/check.h"
#include "platform/files.h"
#include "platform/system_clock.h"
#include "tests/coordinator/fleet.h"
#include "tests/support/child_process.h"
#include "tests/support/etcd_cluster.h"
#include "tests/support/fault_proxy.h"
#include "tests/support/postgres_server.h"
#include "tests/support/radosgw.h"

namespace muster {
namespace {

std::string fresh_scope() {
  return "run-" + system_random().uuid();
}

/// A directory whose lock someone else holds for a while: reads go on, writes wait.
class DirectoryJudge final : public Judge {
 public:
  [[nodiscard]] std::string url() const override { return "file://" + dir_.path().string(); }
  void disturb(Random& random) override {
    const std::string path = dir_.path() / "lock";
    files::FileLock lock(UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)));
    const MonoTime until = boot_now() + 1s;
    while (!lock.try_lock().value()) {
      // A frozen process may hold it, which is disturbance enough, and only we can wake it.
      if (boot_now() > until) return;
      let_pass(1ms);
    }
    let_pass(random.between(50ms, 2s));
    lock.unlock();
  }

 private:
  TempDir dir_;
};

/// radosgw behind a proxy of this schedule's own.
class BucketJudge final : public Judge {
 public:
  [[nodiscard]] std::string url() const override {
    return RadosGateway::shared().url(scope_, proxy_.port());
  }
  void disturb(Random& random) override {
    Fault fault{.kind = Fault::Kind::kClose, .method = {}, .path_part = {}};
    fault.times = 1 + static_cast<int>(random.below(6));
    switch (random.below(5)) {
      case 0:
        break;
      case 1:
        fault.kind = Fault::Kind::kLoseReply;
        break;
      case 2:
        fault.kind = Fault::Kind::kStall;
        break;
      case 3:
        fault.kind = Fault::Kind::kStallReply;
        break;
      default:
        fault.kind = Fault::Kind::kAnswer;
        fault.answer = s3_answers::slow_down(1);
    }
    fault.stall = random.between(50ms, 2s);
    proxy_.inject(fault);
  }

 private:
  std::string scope_ = fresh_scope();
  FaultProxy proxy_{RadosGateway::shared().port()};
};

/// Three members that all schedules share, one of which hangs now and then.
class SharedEtcd {
 public:
  static SharedEtcd& instance() {
    static SharedEtcd shared;
    return shared;
  }
  [[nodiscard]] std::string url(const std::string& scope) const { return cluster_.url(scope); }
  void hang_one(Random& random) {
    const std::lock_guard lock(mutex_);
    const int member = static_cast<int>(random.below(3));
    cluster_.stop(member);
    let_pass(random.between(50ms, 2s));
    cluster_.cont(member);
  }

 private:
  SharedEtcd() : cluster_({.members = 3, .extra_args = {}}) {}
  testing::EtcdCluster cluster_;
  std::mutex mutex_;
};

class EtcdJudge final : public Judge {
 public:
  [[nodiscard]] std::string url() const override { return SharedEtcd::instance().url(scope_); }
  void disturb(Random& random) override { SharedEtcd::instance().hang_one(random); }

 private:
  std::string scope_ = fresh_scope();
};

/// One server that all schedules share. It hangs now and then, or ends every connection.
class SharedPostgres {
 public:
  static SharedPostgres& instance() {
    static SharedPostgres shared;
    return shared;
  }
  [[nodiscard]] std::string url(const std::string& scope) const { return server_.url(scope); }
  void fail(Random& random) {
    const std::lock_guard lock(mutex_);
    if (random.below(2) == 0) {
      server_.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
          " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
      return;
    }
    server_.pause();
    let_pass(random.between(50ms, 2s));
    server_.resume();
  }

 private:
  SharedPostgres() : server_({.settings = {"max_connections = 300"}}) {}
  testing::PostgresServer server_;
  std::mutex mutex_;
};

class PostgresJudge final : public Judge {
 public:
  [[nodiscard]] std::string url() const override { return SharedPostgres::instance().url(scope_); }
  void disturb(Random& random) override { SharedPostgres::instance().fail(random); }

 private:
  std::string scope_ = fresh_scope();
};

}  // namespace

void prepare_judges(const std::string& kind) {
  if (kind == "s3") RadosGateway::shared();
  if (kind == "etcd") SharedEtcd::instance();
  if (kind == "postgres") SharedPostgres::instance();
}

std::unique_ptr<Judge> make_judge(const std::string& kind) {
  if (kind == "s3") return std::make_unique<BucketJudge>();
  if (kind == "etcd") return std::make_unique<EtcdJudge>();
  if (kind == "postgres") return std::make_unique<PostgresJudge>();
  MUSTER_CHECK(kind == "file");
  return std::make_unique<DirectoryJudge>();
}

}  // namespace muster
