#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/world.h"
#include "store/memory/memory_store.h"
#include "store/remote/lineage.h"
#include "store/store.h"

namespace muster::sim {

/// The faults of a store and of the network to it. Probabilities are per call; all zero means a
/// store that is just some milliseconds away.
struct StoreFaults {
  Duration latency_min = 2ms;
  Duration latency_max = 60ms;
  double slow = 0;  ///< One way takes up to `slow_max` instead.
  Duration slow_max = 40s;
  double request_lost = 0;          ///< Never arrives.
  double reply_lost = 0;            ///< Takes effect, but the caller learns nothing.
  double error_before = 0;          ///< 500, and nothing happened.
  double error_after = 0;           ///< 500, and it happened.
  double resent_unseen = 0;         ///< A write that a proxy sent twice: it landed, and says 412.
  double conditional_conflict = 0;  ///< 409: nothing settled.
  double throttled = 0;             ///< 429, and come back in `retry_after`.
  Duration retry_after = 500ms;
  bool throttles_writes_only = false;
  bool down = false;       ///< Nothing arrives at all.
  bool disk_full = false;  ///< Reads are answered, writes fail.

  /// Everything above, in proportion to `badness` from 0 to 1.
  [[nodiscard]] static StoreFaults scaled(double badness);
};

/// State shared by all processes of a simulation: the objects, and the current faults.
struct SharedStore {
  std::shared_ptr<MemoryObjects> objects = std::make_shared<MemoryObjects>();
  StoreFaults faults;
  bool conditional_remove = true;  ///< False: as on S3.
  bool guarded_put = false;        ///< True: as on etcd.
  bool watch = false;              ///< True: as on etcd; each push travels like a reply.
  /// Revisions are numbers that an older copy of the store issues again, and each answer contains
  /// the store's latest number: as on etcd.
  bool numbered = false;
  /// A process that is cut off does not get replies that were under way, either.
  bool cut_off_is_deaf = false;
  /// Counts the moments in which the store lost its power, and with it every write that had been
  /// sent and was not yet on disk. None of them had been acknowledged or shown to anybody.
  std::uint64_t power_losses = 0;
  /// How far the clock of each gateway is ahead, as on S3: one stamps a write, another one reports
  /// its age. Empty: nothing has an age.
  std::vector<Duration> gateway_clocks{};
  [[nodiscard]] MonoTime gateway_now(World& world) const;
  /// Called for every put when it is sent.
  std::function<void(const Key& key, const std::string& body)> on_send;
  /// Called for every read of one object when it is sent.
  std::function<void(const Key& key)> on_get;
};

/// One process's connection to the shared store. Requests and replies travel in true time; a
/// request may arrive long after its caller gave up, as in a real network.
class FaultyStore final : public ObjectStore {
 public:
  FaultyStore(World& world, Process& process, std::shared_ptr<SharedStore> shared)
      : world_(world), process_(process), shared_(std::move(shared)) {}

  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] std::string describe() const override { return "simulated store"; }
  [[nodiscard]] std::uint64_t history() const override { return identity_.history(); }
  void get(Key key, std::optional<Revision> unless, Deadline by, Callback<Object> done) override;
  void put(Key key, std::string body, Precondition when, Deadline by,
           Callback<Revision> done) override;
  void guarded_put(Key key, std::string body, Precondition when, Guard guard, Deadline by,
                   Callback<Revision> done) override;
  void remove(Key key, std::optional<Revision> when, Deadline by, Callback<Done> done) override;
  void list(std::string prefix, std::string from, Deadline by, Callback<ListPage> done) override;
  /// In order and without loss, but late, and with a reset after the process was cut off.
  std::unique_ptr<Watch> watch(std::string prefix, std::string cursor,
                               std::function<void(const WatchEvent&)> on_event) override;

  /// How many calls this process has made.
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  /// The latest revision that this process knows of, if revisions are numbers.
  [[nodiscard]] std::uint64_t seen_revision() const {
    return static_cast<std::uint64_t>(identity_.mark().floor);
  }
  /// Cuts this process off from the store, or lets it reach it again.
  void set_cut_off(bool cut_off) { cut_off_ = cut_off; }
  [[nodiscard]] bool cut_off() const { return cut_off_; }

 private:
  template <typename T>
  void call(bool writes, Deadline by, std::function<Result<T>()> effect, Callback<T> done);
  [[nodiscard]] Duration travel();
  class Subscription;

  World& world_;
  Process& process_;
  std::shared_ptr<SharedStore> shared_;
  remote::Lineage identity_{"simulated store"};
  std::uint64_t calls_ = 0;
  bool cut_off_ = false;
  Lifetime lifetime_;
};

}  // namespace muster::sim
