#pragma once

#include <string>
#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "core/log/position.h"

namespace muster::rlog {

/// Settles one number for the writer who wants it (rules L3 and L4): told what the store answered,
/// it says what to ask next. Whatever happens, only the same bytes are sent for the number. An
/// answer about the number counts only if the floor, looked at afterwards or in the same
/// transaction, lies below it.
///
/// Pure: no I/O, no clock of its own; one thread.
class Append {
 public:
  /// Create the entry with body(), in one transaction with a look at the manifest as last read
  /// when the log is guarded.
  struct Put {};
  struct ReadEntry {};
  struct ReadManifest {};
  /// The entry is in, and counts.
  struct Own {};
  /// The number is another's, for certain and for ever.
  struct Other {
    std::string body;
  };
  /// Nobody here can tell: it was given up, or the number was compacted meanwhile.
  struct Unknown {
    bool compacted = false;
  };
  struct Step {
    std::variant<Put, ReadEntry, ReadManifest, Own, Other, Unknown> next;
    Duration wait{0};  ///< Before doing it.
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
  Seen seen_ = Seen::kAbsent;  ///< What the floor has still to confirm.
  std::string other_;
};

}  // namespace muster::rlog
