#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/store.h"

namespace muster::history {

/// One call of one client on one key of a versioned store, and what it was told.
struct Operation {
  enum class Kind { kRead, kPut, kRemove };
  enum class Outcome {
    kOpen,      ///< No answer, or kAmbiguous: it may have happened, or may happen yet.
    kOk,        ///< It happened.
    kConflict,  ///< Its condition did not hold.
    kNotFound,  ///< There was nothing to read or to remove.
    kRefused,   ///< It certainly did not happen; of a read, it tells nothing.
  };
  Kind kind = Kind::kRead;
  std::string key;
  /// What a put writes, and no other call did but the same one sent again; or what a read saw.
  std::string value;
  Precondition when;     ///< Of a put or a remove.
  std::string revision;  ///< Of what was read or written; empty while not known.
  Outcome outcome = Outcome::kOpen;
  Duration called{0};
  Duration answered = Duration::max();  ///< Of an open one, for ever.
};

/// What clients asked of a store and were told, gathered while they run and judged afterwards.
///
/// It is right when there is one order of all operations of a key in which each answer follows
/// from those before, and in which no operation comes before another that was answered before it
/// was called. The search is Wing and Gong's, with Lowe's memory of configurations already seen.
/// One thread.
class History {
 public:
  using Id = std::size_t;

  Id read(const std::string& key, Duration now);
  Id put(const std::string& key, std::string value, Precondition when, Duration now);
  Id remove(const std::string& key, std::optional<Revision> when, Duration now);
  /// That write was sent once more, by someone who drops the answer: it may happen twice.
  void again(Id id, Duration now);

  void answered(Id id, const Result<Object>& answer, Duration now);    ///< Of a read.
  void answered(Id id, const Result<Revision>& answer, Duration now);  ///< Of a put.
  void answered(Id id, const Status& answer, Duration now);            ///< Of a remove.

  /// Empty when the history is linearizable, else what is wrong.
  [[nodiscard]] std::string violation() const;

  [[nodiscard]] const std::vector<Operation>& operations() const { return operations_; }

 private:
  Id add(Operation operation, Duration now);
  void settle(Id id, const Error* error, Duration now);

  std::vector<Operation> operations_;
};

}  // namespace muster::history
