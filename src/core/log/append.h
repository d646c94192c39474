#pragma once

#include <string>
#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "core/log/position.h"

namespace muster::rlog {

/// Settles one number for the writer who wants it (rules L3 and L4): from the store's answers it
/// decides the next request. Only the same bytes are ever sent for the number. An answer about
/// the number counts only if the floor, read afterwards or in the same transaction, lies below
/// it.
///
/// Pure: no I/O, no clock of its own. Threads: one.
class Append {
 public:
  /// Create the entry with body(); if the log is guarded, in one transaction with a check of the
  /// manifest as last read.
  struct Put {};
  struct ReadEntry {};
  struct ReadManifest {};
  /// The entry was accepted.
  struct Own {};
  /// The number is another writer's, certainly and for ever.
  struct Other {
    std::string body;
  };
  /// The outcome is unknown: the writer gave up, or the number was compacted meanwhile.
  struct Unknown {
    bool compacted = false;
  };
  struct Step {
    std::variant<Put, ReadEntry, ReadManifest, Own, Other, Unknown> next;
    Duration wait{0};  ///< Before the request.
  };
  struct Terms {
    bool guarded = false;
    MonoTime give_up_at;
    Duration retry_wait;
  };

  Append(Index number, std::string body, Terms terms)
      : number_(number), body_(std::move(body)), terms_(terms) {}

  [[nodiscard]] Index number() const { return number_; }
  [[nodiscard]] const std::string& body() const { return body_; }

  [[nodiscard]] Step begin() const { return {Put{}, {}}; }
  [[nodiscard]] Step put_answered(const Status& answer, MonoTime now);
  [[nodiscard]] Step entry_read(Result<std::string> body, MonoTime now);
  [[nodiscard]] Step manifest_read(const Result<Index>& floor, MonoTime now);

 private:
  enum class Seen { kOwn, kOther, kAbsent };
  [[nodiscard]] Step go_on(Step step, MonoTime now) const;
  [[nodiscard]] Step settle();

  Index number_;
  std::string body_;
  Terms terms_;
  Seen seen_ = Seen::kAbsent;  ///< To be confirmed by the floor.
  std::string other_;
};

}  // namespace muster::rlog
