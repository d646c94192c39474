#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/store.h"

namespace muster::remote {

/// `text`, a revision, cursor or page of one history, as callers see it. Histories count from 0;
/// texts of history 0 carry no mark.
[[nodiscard]] std::string stamp(std::uint64_t history, std::string text);
struct Stamped {
  std::uint64_t history;
  std::string_view text;  ///< Refers to the argument of split().
};
[[nodiscard]] Stamped unstamp(std::string_view stamped);

/// Detects that the store behind an address is not the one seen before: another cluster, or the
/// same one restored from an older copy. Then a new history begins. Its numbers are issued a second
/// time with other meanings, so every text that a caller keeps is stamped with its history; no
/// object has a revision of another history. Pure. Threads: one.
class Lineage {
 public:
  /// With `stop` the finding is permanent until the store is opened anew: for a caller that must
  /// not continue from another past.
  explicit Lineage(std::string address, bool stop = false)
      : address_(std::move(address)), stop_(stop) {}

  /// The known position of the store: its history, and the highest revision in it. Take it before a
  /// request is sent, because answers of concurrent requests may come in any order.
  struct Mark {
    std::uint64_t history = 0;
    std::int64_t floor = 0;
  };
  [[nodiscard]] Mark mark() const { return {history_, floor_}; }
  [[nodiscard]] std::uint64_t history() const { return history_; }

  /// Checks an answer's header. `sent` is the mark() at the time of the request. A store without
  /// cluster ids always passes the same id. Returns kUnavailable if the answer shows a new history
  /// or belongs to an old one, so that nothing in it may be used; kCorrupt with `stop`. `changed`
  /// says to people what another id means.
  Status observe(std::uint64_t cluster_id, std::int64_t revision, const Mark& sent,
                 std::string_view changed = "its cluster id has changed");

  /// kCorrupt once the store has changed its identity, with `stop`.
  [[nodiscard]] Status status() const;

  /// A text of the current history without its stamp; empty for a text of another history.
  [[nodiscard]] std::string own(std::string_view stamped) const;
  [[nodiscard]] std::optional<Revision> own(const std::optional<Revision>& revision) const;
  [[nodiscard]] Precondition own(Precondition when) const;
  [[nodiscard]] std::optional<Guard> own(std::optional<Guard> guard) const;
  /// Answers as callers see them, with stamps.
  [[nodiscard]] Result<Object> stamped(Result<Object> object) const;
  [[nodiscard]] Result<Revision> stamped(Result<Revision> revision) const;
  [[nodiscard]] Result<ListPage> stamped(Result<ListPage> page) const;
  [[nodiscard]] static Status stamped(Status status) { return status; }

 private:
  std::string address_;
  bool stop_;
  std::uint64_t history_ = 0;
  std::optional<std::uint64_t> cluster_id_;
  std::int64_t floor_ = 0;
  std::optional<Error> broken_;
};

/// The error for the caller of a request whose answer observe() refused: a write was performed, in
/// some history.
[[nodiscard]] Error unusable(Error error, bool wrote);

}  // namespace muster::remote
