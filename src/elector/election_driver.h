#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "core/election/election.h"
#include "store/store.h"

namespace muster {

/// Performs on a store what the Election decides, and reports the answers to it. A thin shell that
/// decides nothing. Threads: loop thread only.
class ElectionDriver {
 public:
  struct Options {
    std::string name_space = "default";
    /// Where its objects are, with a slash at the end; empty: those of the election `name_space`.
    std::string root{};
    Duration request_timeout = 3s;
    /// Written to metadata.json by the first worker of an election.
    Duration heartbeat_interval = 5s;
    Duration worker_timeout = 20s;
    std::string pod;
    std::string value;  ///< Published while this worker leads.
  };
  struct Hooks {
    std::function<void(const ElectionEvent&)> on_event;
    /// The live workers that a leader publishes with its renewals.
    std::function<std::vector<WorkerId>()> workers;
    /// The number of workers that it has seen fall silent in its term.
    std::function<std::uint64_t()> timeouts;
    /// No heartbeat may start before this time (the circuit breaker). Asked before each one.
    std::function<MonoTime(MonoTime now)> not_before;
    /// A heartbeat has ended, from its first request to its last answer.
    std::function<void(MonoTime began, bool failed)> on_beat;
  };

  ElectionDriver(Loop& loop, ObjectStore& store, ElectionConfig config, Options options,
                 Hooks hooks, Random random);

  void start();
  void resign(ResignOptions options) { perform(election_.resign(std::move(options), loop_.now())); }
  void set_eligible(bool eligible) { perform(election_.set_eligible(eligible, loop_.now())); }
  void rise_above(Epoch epoch) { election_.rise_above(epoch); }
  /// The term's owner, who is elsewhere, has sent a beat.
  void told(std::uint64_t beat) { perform(election_.told(beat, loop_.now())); }
  /// The store reports a change: read now.
  void nudge();

  [[nodiscard]] const Election& election() const { return election_; }
  [[nodiscard]] const NamespaceKeys& keys() const { return keys_; }
  [[nodiscard]] const std::optional<NamespaceMetadata>& metadata() const { return metadata_; }

 private:
  void perform(ElectionStep step);
  void notice_history();
  void send(ReadState request);
  void send(WriteState request);
  void send(ReadFloor request);
  void send(RaiseFloor request);
  void send(ListWorkers request);
  void wake();
  void arm();
  [[nodiscard]] Deadline by() const { return loop_.now() + options_.request_timeout; }

  Loop& loop_;
  ObjectStore& store_;
  ElectionConfig config_;
  Options options_;
  Hooks hooks_;
  NamespaceKeys keys_;
  Election election_;
  Timer timer_;
  std::string metadata_body_;  ///< As last read, so that unknown fields are kept.
  std::optional<NamespaceMetadata> metadata_;
  /// When this worker was last elected, and with which epoch; for people.
  struct Elected {
    Epoch epoch;
    WallTime at{};
  };
  Elected elected_;
  std::uint64_t history_ = 0;  ///< The history of the store that the election was last told.
  std::optional<MonoTime> beat_began_;
  bool beat_failed_ = false;
  bool nudged_ = false;
  Lifetime lifetime_;
};

}  // namespace muster
