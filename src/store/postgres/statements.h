#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace muster::postgres {

/// A parameter of a statement: text, or bytes as they are. Empty: NULL.
struct Parameter {
  enum class Type { kText, kBytes, kNumber, kTexts };
  Type type;
  std::optional<std::string> value;
};

/// Its first column is to begin with the text below, where it asks for an Origin.
struct Statement {
  /// Replaced when the statement is sent, so that an answer to another one is noticed.
  static constexpr std::string_view kTag = "@tag@";

  std::string sql;
  std::vector<Parameter> parameters{};
};

/// One row of an answer; a column without a value is NULL.
using Row = std::vector<std::optional<std::string>>;
using Rows = std::vector<Row>;

/// What every answer says about the server that gave it.
struct Origin {
  std::string system;          ///< The database cluster's identifier.
  std::uint32_t timeline = 0;  ///< Rises with each promotion of a standby.
  std::string table;           ///< The table's identifier.
  std::int64_t revision = 0;   ///< The last one that was issued.

  /// The columns with which every statement begins, whose number is kColumns.
  [[nodiscard]] static std::string columns();
  static constexpr std::size_t kColumns = 4;
  /// kCorrupt if `rows` do not begin with these columns.
  [[nodiscard]] static Result<Origin> read(const Rows& rows);
  /// Of everything but the revision.
  [[nodiscard]] std::uint64_t identity() const;
  /// Whether a standby was promoted above this server, which nobody stopped: `seen` is later.
  [[nodiscard]] bool is_outdated(const Origin& seen) const;
  /// The timeline, as the columns have it. Nothing if it is none.
  [[nodiscard]] static std::optional<std::uint32_t> timeline_of(std::string_view hexadecimal);
};

/// Converts calls into statements, and rows back. Each call is one statement, which commits by
/// itself, so nothing is left open if a connection is lost. Pure.
///
/// Every writing statement sets synchronous_commit to `on` for itself if the server's or the role's
/// setting is weaker, because a commit that a crash may undo decides nothing.
class Statements {
 public:
  /// Every key gets `prefix` in front, which is empty or ends in '/'.
  explicit Statements(std::string prefix) : prefix_(std::move(prefix)) {}

  /// kInvalid if PostgreSQL cannot keep an object with this key or body.
  [[nodiscard]] static Status check(const Key& key, std::size_t body_bytes);

  [[nodiscard]] Statement get(const Key& key, const std::optional<Revision>& unless) const;
  [[nodiscard]] static Result<Object> got(const Key& key, const Rows& rows);

  [[nodiscard]] Statement put(const Key& key, std::string body, const Precondition& when,
                              const std::optional<Guard>& guard) const;
  [[nodiscard]] static Result<Revision> was_put(const Key& key, const Rows& rows);
  /// A row for `key`, which makes no object: what a guard that demands the key's absence locks.
  [[nodiscard]] Statement keep_place(const Key& key) const;

  [[nodiscard]] Statement remove(const Key& key, const std::optional<Revision>& when) const;
  [[nodiscard]] static Status removed(const Key& key, const Rows& rows);

  /// One page of `page_size` at most, or everything with 0. The keys after `from`.
  [[nodiscard]] Statement list(const std::string& prefix, const std::string& from,
                               std::size_t page_size) const;
  [[nodiscard]] ListPage listed(const Rows& rows, std::size_t page_size) const;

  /// The objects with these keys, those that exist.
  [[nodiscard]] Statement fetch(const std::vector<Key>& keys) const;
  struct Fetched {
    Key key;
    Object object;
  };
  [[nodiscard]] std::vector<Fetched> fetched(const Rows& rows) const;

  /// The notification channel that tells of changes of `prefix`.
  [[nodiscard]] std::string channel(const std::string& prefix) const;
  /// The key of a notification, without the store's prefix; nothing if it is not below it.
  [[nodiscard]] std::optional<Key> strip(const std::string& full_key) const;

 private:
  [[nodiscard]] std::string full(const Key& key) const { return prefix_ + key; }

  std::string prefix_;
};

/// LISTEN. `channel` is from Statements::channel().
[[nodiscard]] Statement listen(const std::string& channel);
[[nodiscard]] Statement unlisten(const std::string& channel);

}  // namespace muster::postgres
