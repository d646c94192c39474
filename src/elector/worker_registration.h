#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/random.h"
#include "core/election/records.h"
#include "store/store.h"

namespace muster {

/// Keeps this worker's file in the store fresh. Only one incarnation writes the file, at its
/// revision, so that two processes with one id detect each other: the process whose file was taken
/// over reports that and stops writing. The file is a hint for others; no decision about a lease
/// rests on it. Threads: loop thread only.
class WorkerRegistration {
 public:
  struct Options {
    Duration worker_timeout = 20s;
    Duration request_timeout = 3s;
    Duration retry_wait = 1s;          ///< After the first failure; doubles with each further one,
    Duration heartbeat_interval = 5s;  ///< up to this, however long the store asks for.
  };
  struct Hooks {
    /// Another incarnation has taken this worker's file.
    std::function<void(const Incarnation& other)> on_duplicate;
    std::function<void(const Error&)> on_error;
  };

  /// `record` holds the constant fields: ids, pod, names.
  WorkerRegistration(Loop& loop, ObjectStore& store, Key key, WorkerRecord record, Options options,
                     Hooks hooks, Random random);

  /// Writes the file for the first time; calls `attempted` after the first answer, good or bad.
  /// Retries failures by itself.
  void start(std::function<void()> attempted);
  /// Call with each heartbeat: writes if due, a few times per worker timeout, so that two lost
  /// requests in a row do no harm. A leader whose renewals show that it is alive writes only new
  /// data; listed() tells it if the file differs from its last write.
  void beat(bool shown_otherwise = false);
  /// A list begun at `began` shows the file at this revision, or shows no file. If another process
  /// has written or removed it, the next beat writes it.
  void listed(const std::optional<Revision>& revision, MonoTime began);
  /// Publishes an outage in the file: the next beat writes it, until one write has succeeded. A
  /// later outage replaces it.
  void report(const Outage& outage) { outage_ = outage; }
  /// From the next beat on, the file says why this worker would not lead; empty: it would.
  void stand_aside(std::string why);
  /// Waits for the request in flight, then removes the file at its revision; if the store cannot do
  /// that, the file is marked first. Calls `done` after the attempt.
  void stop(std::function<void()> done);

  [[nodiscard]] bool registered() const { return registered_; }
  [[nodiscard]] bool duplicate() const { return duplicate_; }

 private:
  void write();
  void written(const Nonce& nonce, Result<Revision> result);
  void read_back(const Nonce& nonce);
  void compare(const Nonce& nonce, const Result<Object>& object);
  void settled(bool ok);
  [[nodiscard]] Duration patience();
  void leave();
  void left();

  Loop& loop_;
  ObjectStore& store_;
  Key key_;
  WorkerRecord record_;
  Options options_;
  Hooks hooks_;
  Random random_;
  std::optional<Revision> revision_;
  std::uint64_t history_ = 0;     ///< Of the store, when the file was last written.
  std::optional<Outage> outage_;  ///< Not published yet.
  MonoTime sent_at_{};
  MonoTime settled_at_{};  ///< When the last write was answered.
  bool changed_ = false;   ///< The file no longer describes this worker correctly.
  bool in_flight_ = false;
  bool registered_ = false;
  bool duplicate_ = false;
  bool gone_ = false;
  bool refused_ = false;   ///< The last write failed, and not by a conflict.
  unsigned failures_ = 0;  ///< In a row.
  Duration asked_{0};      ///< Wait requested by the store.
  Timer retry_;
  std::function<void()> attempted_;
  std::function<void()> stopping_;
  Lifetime lifetime_;
};

}  // namespace muster
