#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/store.h"

namespace muster::remote {

/// `text`, a revision, cursor or page of one history, as callers see it. Histories count from 0,
/// whose texts carry no mark.
[[nodiscard]] std::string stamp(std::uint64_t history, std::string text);
struct Stamped {
  std::uint64_t history;
  std::string_view text;  ///< Refers to what was split.
};
[[nodiscard]] Stamped unstamp(std::string_view stamped);

/// Notices that the store behind an address is not the one seen before: another cluster, or the
/// same one restored from an older copy. A new history begins then. Its numbers are given out a
/// second time and mean other things, so every text that a caller keeps is stamped with its
/// history: at a revision of another history there is nothing. Pure; one thread.
class Identity {
 public:
  /// With `stop` the finding stays until the store is opened anew: for a caller that must not go on
  /// in another past.
  explicit Identity(std::string address, bool stop = false)
      : address_(std::move(address)), stop_(stop) {}

  /// Where the store is known to be: its history, and the highest revision in it. Take it before a
  /// request is sent: answers of requests that run side by side may come in any order.
  struct Mark {
    std::uint64_t history = 0;
    std::int64_t floor = 0;
  };
  [[nodiscard]] Mark mark() const { return {history_, floor_}; }
  [[nodiscard]] std::uint64_t history() const { return history_; }

  /// An answer's header. `sent` is what mark() was when its request was sent. A store without
  /// cluster ids always passes the same. kUnavailable: the answer shows a new history, or belongs
  /// to an old one; nothing in it may be used. kCorrupt with `stop`.
  Status observe(std::uint64_t cluster_id, std::int64_t revision, const Mark& sent);

  /// kCorrupt once the store has changed its identity, with `stop`.
  [[nodiscard]] Status status() const;

  /// A text of the history in force without its stamp; empty for that of another one.
  [[nodiscard]] std::string own(std::string_view stamped) const;
  [[nodiscard]] std::optional<Revision> own(const std::optional<Revision>& revision) const;
  [[nodiscard]] Precondition own(Precondition when) const;
  [[nodiscard]] std::optional<Guard> own(std::optional<Guard> guard) const;
  /// Answers as callers see them.
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

/// What the caller of a request is told whose answer observe() did not take: a write has been
/// performed, in whatever history.
[[nodiscard]] Error unusable(Error error, bool wrote);

}  // namespace muster::remote
