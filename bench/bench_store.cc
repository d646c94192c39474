// What an operation costs on each store: requests at the server, operations per second one after
// another and with 16 under way, CPU time of this process, fsyncs.
//   bench_store [SECONDS for each measurement] [PART of the names of the stores to measure]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"
#include "bench/load.h"
#include "bench/report.h"
#include "bench/store_subjects.h"

namespace muster::bench {
namespace {

constexpr std::size_t kLanes = 16;
constexpr std::size_t kListed = 100;
constexpr std::size_t kBodyBytes = 400;  // A state.json with a few workers is as long.

/// One row of the table: an operation on a store, alone and in company.
struct Row {
  std::string store;
  std::string operation;
  Cost alone;
  Cost together;
  double requests = 0;  ///< Of one operation, as are the syncs.
  double syncs = 0;
};

/// Nothing here competes for a key or overloads a server: a failure would make figures worthless.
template <typename T>
void expect_ok(const Result<T>& result) {
  if (!result) std::fprintf(stderr, "an operation failed: %s\n", result.error().message.c_str());
  MUSTER_CHECK(result.ok());
}

/// Measures the four operations on one store. Each lane has a key of its own.
class Measurement {
 public:
  Measurement(Subject& subject, Duration time) : subject_(subject), time_(time) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) keys_.push_back(key("lane/", lane));
    revisions_.resize(kLanes);
    create();
  }

  std::vector<Row> run() {
    return {measure("get", [this](std::size_t lane, auto done) { get(lane, std::move(done)); }),
            measure("get unchanged",
                    [this](std::size_t lane, auto done) { get_unchanged(lane, std::move(done)); }),
            measure("put at revision",
                    [this](std::size_t lane, auto done) { swap(lane, std::move(done)); }),
            measure("list 100 keys",
                    [this](std::size_t lane, auto done) { list(lane, std::move(done)); })};
  }

 private:
  static Key key(const std::string& prefix, std::size_t number) {
    return prefix + "worker=" + std::to_string(1000 + number) + ".json";
  }
  [[nodiscard]] Deadline by() { return subject_.thread().loop().now() + 30s; }
  std::string body() {
    std::string text = std::to_string(++bodies_);  // No body twice: a revision may be its hash.
    text.resize(kBodyBytes, '.');
    return text;
  }

  void create() {
    // As a load of its own, one object after another, until all are there.
    std::size_t made = 0;
    while (made < kListed + kLanes) {
      const bool listed = made < kListed;
      const Key name = listed ? key("many/", made) : keys_[made - kListed];
      static_cast<void>(run_load(
          subject_.thread(), 1, Duration(0), [&](std::size_t, const std::function<void()>& done) {
            subject_.store().put(name, body(), Precondition::absent(), by(), [&, done](auto put) {
              expect_ok(put);
              if (!listed) revisions_[made - kListed] = *put;
              done();
            });
          }));
      ++made;
    }
  }

  void get(std::size_t lane, std::function<void()> done) {
    subject_.store().get(keys_[lane], {}, by(), [done = std::move(done)](const auto& object) {
      expect_ok(object);
      done();
    });
  }
  void get_unchanged(std::size_t lane, std::function<void()> done) {
    subject_.store().get(keys_[lane], revisions_[lane], by(),
                         [done = std::move(done)](const auto& object) {
                           MUSTER_CHECK(object.is(Errc::kUnchanged));
                           done();
                         });
  }
  void swap(std::size_t lane, std::function<void()> done) {
    subject_.store().put(keys_[lane], body(), Precondition::at(revisions_[lane]), by(),
                         [this, lane, done = std::move(done)](const auto& revision) {
                           expect_ok(revision);
                           revisions_[lane] = *revision;
                           done();
                         });
  }
  void list(std::size_t, std::function<void()> done) {
    subject_.store().list("many/", "", by(), [done = std::move(done)](const auto& page) {
      expect_ok(page);
      MUSTER_CHECK(page->objects.size() == kListed);
      done();
    });
  }

  Row measure(const std::string& operation, const Operation& once) {
    // Connections and caches first.
    static_cast<void>(run_load(subject_.thread(), kLanes, time_ / 5, once));
    const auto requests = subject_.requests();
    const auto syncs = subject_.syncs();
    Row row{subject_.name(), operation, {}, {}};
    row.alone = run_load(subject_.thread(), 1, time_, once);
    row.together = run_load(subject_.thread(), kLanes, time_, once);
    const auto count = static_cast<double>(row.alone.operations + row.together.operations);
    row.requests = static_cast<double>(subject_.requests() - requests) / count;
    row.syncs = static_cast<double>(subject_.syncs() - syncs) / count;
    return row;
  }

  Subject& subject_;
  const Duration time_;
  std::vector<Key> keys_;
  std::vector<Revision> revisions_;
  std::uint64_t bodies_ = 0;
};

void show(Report& report, const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> table;
  for (const Row& row : rows) {
    table.push_back({row.store, row.operation, figure(row.requests, 2), figure(row.syncs, 2),
                     figure(row.alone.per_second(), 0), figure(row.alone.cpu_us(), 1),
                     figure(row.together.per_second(), 0), figure(row.together.cpu_us(), 1)});
    report.data()[row.store][row.operation] = {
        {"requests_per_operation", row.requests},
        {"fsyncs_per_operation", row.syncs},
        {"sequential", {{"per_s", row.alone.per_second()}, {"cpu_us", row.alone.cpu_us()}}},
        {"in_flight_16",
         {{"per_s", row.together.per_second()}, {"cpu_us", row.together.cpu_us()}}}};
  }
  report.table(
      {"store", "operation", "requests", "fsyncs", "1: op/s", "CPU us", "16: op/s", "CPU us"},
      table);
}

void judge(Report& report, const std::vector<Row>& rows) {
  double alone = 0;
  double together = 0;
  for (const Row& row : rows) {
    const bool swaps = row.operation == "put at revision";
    // What a list costs on top is its answer: a hundred entries to parse.
    if (row.store.starts_with("S3") && row.operation != "list 100 keys") {
      alone = std::max(alone, row.alone.cpu_us() / row.requests);
      together = std::max(together, row.together.cpu_us() / row.requests);
    }
    if (row.store.starts_with("file, sync=off") && swaps) {
      report.at_least(row.store + ": swaps per second, one by one", row.alone.per_second(), 5000,
                      "1/s");
      report.at_least(row.store + ": swaps per second, 16 under way", row.together.per_second(),
                      5000, "1/s");
    }
    if (row.store == "file" && swaps) {
      report.note("file: " + figure(row.syncs, 2) + " fsyncs for a durable swap");
    }
  }
  if (alone > 0) {
    const std::string what = "S3: own CPU for a signed get or put, the most expensive,  ";
    report.at_most(what + "one by one", alone, 120, "us");
    report.at_most(what + "16 under way", together, 120, "us");
  }
}

int run(Duration time, const std::string& part) {
  Report report(part.empty() ? "store" : "parts/store");
  Stores stores;
  report.data()["file_system"] = stores.file_system();
  report.note(
      "directories on " + stores.file_system() +
      "; radosgw, etcd and PostgreSQL keep their data in memory and share this machine's cores");
  std::vector<Row> rows;
  for (const auto open : {&Stores::memory, &Stores::file_on_tmpfs, &Stores::file_without_sync,
                          &Stores::file, &Stores::s3, &Stores::etcd, &Stores::postgres}) {
    const auto subject = (stores.*open)();
    if (subject->name().find(part) == std::string::npos) continue;
    for (Row& row : Measurement(*subject, time).run()) rows.push_back(std::move(row));
  }
  report.title("one operation under way, then 16; CPU is this process's own, per operation");
  show(report, rows);
  report.title("bars");
  judge(report, rows);
  return report.finish();
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1.5;
  if (argc > 3 || !(seconds > 0)) {
    std::fprintf(stderr, "usage: bench_store [SECONDS for each measurement] [PART of a name]\n");
    return 64;
  }
  return muster::bench::run(muster::scale(std::chrono::seconds(1), seconds),
                            argc > 2 ? argv[2] : "");
}
