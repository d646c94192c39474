// What an append to the replicated log costs on each store: one at a time, and 256 at once, which
// share entries.

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/load.h"
#include "bench/report.h"
#include "bench/store_subjects.h"
#include "log/replicated_log.h"
#include "platform/system_clock.h"

namespace muster::bench {
namespace {

/// Applies everything and keeps nothing: what is measured is the log.
class Nothing final : public rlog::StateMachine {
 public:
  Status apply(const rlog::AcceptedEntry&) override { return Done{}; }
  std::unique_ptr<rlog::SnapshotReader> snapshot() override { return std::make_unique<Empty>(); }
  std::unique_ptr<rlog::SnapshotLoader> load() override { return std::make_unique<Empty>(); }

 private:
  struct Empty final : rlog::SnapshotReader, rlog::SnapshotLoader {
    std::optional<std::string> next_part() override { return {}; }
    Status part(std::string_view) override { return Done{}; }
    Status finish() override { return Done{}; }
  };
};

constexpr std::size_t kCommandBytes = 200;

std::vector<std::string> measure(Subject& subject) {
  Nothing machine;
  std::unique_ptr<rlog::ReplicatedLog> log;
  LoopThread& thread = subject.thread();
  std::promise<Status> leads;
  thread.run([&] {
    rlog::Options options;
    options.prefix = "bench-log/";
    options.create = true;
    log = std::make_unique<rlog::ReplicatedLog>(
        options, rlog::Surroundings{thread.loop(), subject.store(), system_random(), machine, {}});
    log->open([&](const Status& opened) {
      MUSTER_CHECK(opened.ok());
      log->lead(Epoch(1), Incarnation("bench"), [&](Status led) { leads.set_value(led); });
    });
  });
  MUSTER_CHECK(leads.get_future().get().ok());

  std::vector<double> micros;
  const auto append = [&](std::size_t, std::function<void()> done) {
    const MonoTime began = thread.loop().now();
    log->append(std::string(kCommandBytes, 'x'), [&, began, done](const Result<rlog::Ack>& ack) {
      MUSTER_CHECK(ack.ok());
      micros.push_back(static_cast<double>((thread.loop().now() - began).count()) / 1000);
      done();
    });
  };
  (void)run_load(thread, 1, 2s, append);
  const double median = percentile(micros, 0.5);
  const double tail = percentile(micros, 0.99);
  const Cost many = run_load(thread, 256, 3s, append);
  thread.run([&] { log.reset(); });
  return {subject.name(), figure(median, 0), figure(tail, 0), figure(many.per_second(), 0),
          figure(many.cpu_us(), 1)};
}

}  // namespace
}  // namespace muster::bench

int main() {
  using namespace muster::bench;
  Report report("log");
  Stores stores;
  report.title("Appends of 200 bytes to the replicated log");
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::unique_ptr<Subject>& subject) {
    rows.push_back(measure(*subject));
    report.data()[subject->name()] = rows.back();
  };
  add(stores.memory());
  add(stores.file_on_tmpfs());
  add(stores.file());
  add(stores.etcd());
  add(stores.s3());
  report.table({"store", "one: median µs", "one: p99 µs", "256: per second", "256: CPU µs"}, rows);
  return report.finish();
}
