#include "store/postgres/statements.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "store/remote/numbers.h"

namespace muster::postgres {
namespace {

/// PostgreSQL's limit is 1 GB for a row, in which bytes may be doubled on their way.
constexpr std::size_t kBodyBytesMax = 128 * 1024 * 1024;

/// What Origin::read() expects. The functions are executable by everybody. The name of the segment
/// that is written begins with the timeline, and is right from the moment of a promotion, which the
/// control file is not before the next checkpoint. It fails on a standby, which must not answer.
constexpr std::string_view kOrigin =
    "'@tag@:' || (SELECT system_identifier FROM pg_control_system())::text, "
    "substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), "
    "'muster.objects'::regclass::oid::text, "
    "coalesce(pg_sequence_last_value('muster.revision'), 0)::text";

/// Makes the transaction that it is in as durable as it must be.
constexpr std::string_view kDurable =
    "(SELECT set_config('synchronous_commit', 'on', true)"
    " WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write'))";

constexpr std::string_view kAge =
    "(extract(epoch FROM clock_timestamp() - o.written) * 1000)::bigint::text";

/// Tells those who listen, with the commit and not before it.
constexpr std::string_view kTell =
    ", told AS (SELECT pg_notify(c, w.key) FROM w, unnest($3::text[]) AS c)";

Parameter text(std::string value) {
  return {Parameter::Type::kText, std::move(value)};
}

Parameter number(const std::optional<Revision>& revision) {
  if (!revision) return {Parameter::Type::kNumber, std::nullopt};
  return {Parameter::Type::kNumber, revision->value()};
}

/// A revision that the server cannot have issued matches nothing.
std::optional<Revision> sane(const std::optional<Revision>& revision) {
  if (revision && remote::to_number(revision->value())) return revision;
  return Revision("0");
}

/// An array of texts as PostgreSQL writes it.
Parameter texts(const std::vector<std::string>& values) {
  std::string array = "{";
  for (const std::string& value : values) {
    array += array.size() > 1 ? ",\"" : "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') array += '\\';
      array += c;
    }
    array += '"';
  }
  return {Parameter::Type::kTexts, array + "}"};
}

/// FNV-1a: notifications are hints, and two paths on one channel do no harm.
std::string channel_of(std::string_view path) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : path) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  std::array<unsigned char, 8> bytes{};
  for (unsigned char& byte : bytes) {
    byte = static_cast<unsigned char>(hash & 0xff);
    hash >>= 8;
  }
  return "muster_" + to_hex(bytes);
}

/// The channels that a change of a key is told on: the key's own, and one of each folder above it.
std::vector<std::string> channels_of(const std::string& full_key) {
  std::vector<std::string> channels{channel_of(full_key), channel_of("")};
  for (std::size_t i = 0; i < full_key.size(); ++i) {
    if (full_key[i] == '/') {
      channels.push_back(channel_of(std::string_view(full_key).substr(0, i + 1)));
    }
  }
  return channels;
}

/// The least text above all that begin with `prefix`, in the order of code points, which is that of
/// bytes; nothing if there is none.
std::optional<std::string> end_of(std::string prefix) {
  while (!prefix.empty()) {
    std::size_t start = prefix.size() - 1;
    while (start > 0 && (static_cast<unsigned char>(prefix[start]) & 0xc0) == 0x80) --start;
    const std::string last = prefix.substr(start);
    prefix.resize(start);
    std::uint32_t code = static_cast<unsigned char>(last[0]);
    if (last.size() > 1) code &= 0xffu >> (last.size() + 1);
    for (std::size_t i = 1; i < last.size(); ++i) {
      code = (code << 6) | (static_cast<unsigned char>(last[i]) & 0x3f);
    }
    if (++code == 0xd800) code = 0xe000;
    if (code > 0x10ffff) continue;
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80) return prefix + static_cast<char>(code);
    if (code < 0x800) return prefix + static_cast<char>(0xc0 | (code >> 6)) + tail(0);
    if (code < 0x10000) {
      return prefix + static_cast<char>(0xe0 | (code >> 12)) + tail(6) + tail(0);
    }
    return prefix + static_cast<char>(0xf0 | (code >> 18)) + tail(12) + tail(6) + tail(0);
  }
  return std::nullopt;
}

std::optional<Duration> age_of(const std::optional<std::string>& milliseconds) {
  if (!milliseconds) return std::nullopt;
  const bool negative = milliseconds->starts_with('-');
  const auto count = parse_unsigned(std::string_view(*milliseconds).substr(negative ? 1 : 0));
  if (!count ||
      *count > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()) * 1000) {
    return std::nullopt;
  }
  const auto age = std::chrono::milliseconds(static_cast<std::int64_t>(*count));
  return negative ? -age : age;
}

}  // namespace

std::string Origin::columns() {
  return std::string(kOrigin);
}

std::optional<std::uint32_t> Origin::timeline_of(std::string_view hexadecimal) {
  std::uint32_t timeline = 0;
  for (const char c : hexadecimal) {
    const auto digit = std::string_view("0123456789ABCDEF").find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    timeline = timeline * 16 + static_cast<std::uint32_t>(digit);
  }
  return timeline;
}

Result<Origin> Origin::read(const Rows& rows) {
  const Error bad{Errc::kCorrupt, "the answer of PostgreSQL is not one to Muster's statement"};
  if (rows.empty() || rows[0].size() < kColumns) return bad;
  const auto& [system, segment, table, last] =
      std::tie(rows[0][0], rows[0][1], rows[0][2], rows[0][3]);
  if (!system || !segment || !table || !last) return bad;
  const auto timeline = timeline_of(*segment);
  const auto revision = parse_unsigned(*last);
  if (!timeline || !revision) return bad;
  return Origin{*system, *timeline, *table, static_cast<std::int64_t>(*revision)};
}

bool Origin::is_outdated(const Origin& seen) const {
  return system == seen.system && timeline < seen.timeline;
}

std::uint64_t Origin::identity() const {
  return std::hash<std::string>()(system + "." + std::to_string(timeline) + "." + table);
}

Status Statements::check(const Key& key, std::size_t body_bytes) {
  if (key.empty()) return invalid("an object needs a key that is not empty");
  if (key.find('\0') != std::string::npos || !is_utf8(key)) {
    return invalid("PostgreSQL keeps keys that are UTF-8 without zero bytes");
  }
  if (body_bytes > kBodyBytesMax) {
    return invalid("the object is over the limit of 128 MiB for a row of muster.objects");
  }
  return Done{};
}

Statement Statements::get(const Key& key, const std::optional<Revision>& unless) const {
  return {
      "SELECT " + std::string(kOrigin) +
          ", o.revision::text, CASE WHEN o.revision IS DISTINCT FROM $2::bigint THEN o.body END, " +
          std::string(kAge) +
          " FROM (SELECT 1) AS one"
          " LEFT JOIN muster.objects o ON o.key = $1 AND o.body IS NOT NULL",
      {text(full(key)), number(unless ? sane(unless) : std::nullopt)}};
}

Result<Object> Statements::got(const Key& key, const Rows& rows) {
  const Row& row = rows.at(0);
  if (!row.at(4)) return {Errc::kNotFound, key + " does not exist"};
  if (!row.at(5)) return {Errc::kUnchanged, key + " is unchanged"};
  return Object{*row[5], Revision(*row[4]), age_of(row.at(6))};
}

Statement Statements::put(const Key& key, std::string body, const Precondition& when,
                          const std::optional<Guard>& guard) const {
  using Kind = Precondition::Kind;
  Statement statement;
  auto& parameters = statement.parameters;
  parameters = {
      text(full(key)), {Parameter::Type::kBytes, std::move(body)}, texts(channels_of(full(key)))};
  const auto add = [&](Parameter parameter) {
    parameters.push_back(std::move(parameter));
    return "$" + std::to_string(parameters.size());
  };
  const bool guarded = guard && guard->when.kind != Kind::kNone;
  std::string sql = "WITH ";
  std::string guard_row = "true";
  if (guarded) {
    // The lock lasts until the commit, so the guard still holds then. A row that was changed after
    // the statement began is judged as it is when the lock is taken.
    const std::string guard_key = add(text(full(guard->key)));
    sql += "g AS (SELECT 1 FROM muster.objects WHERE key = " + guard_key;
    if (guard->when.kind == Kind::kAbsent) {
      sql += " AND body IS NULL";
      guard_row = "EXISTS (SELECT 1 FROM muster.objects WHERE key = " + guard_key + ")";
    } else {
      const std::string guard_revision = add(number(sane(guard->when.revision)));
      sql += " AND body IS NOT NULL AND revision = " + guard_revision + "::bigint";
    }
    sql += " FOR SHARE), ";
  }
  if (when.kind == Kind::kAtRevision) {
    const std::string revision = add(number(sane(when.revision)));
    sql +=
        "w AS (UPDATE muster.objects AS o SET body = $2, revision = nextval('muster.revision'),"
        " written = clock_timestamp()";
    if (guarded) sql += " FROM g";
    sql += " WHERE o.key = $1 AND o.body IS NOT NULL AND o.revision = " + revision + "::bigint";
  } else {
    sql +=
        "w AS (INSERT INTO muster.objects AS o (key, body, revision)"
        " SELECT $1, $2, nextval('muster.revision')";
    if (guarded) sql += " FROM g";
    sql +=
        " ON CONFLICT (key) DO UPDATE SET body = excluded.body,"
        " revision = nextval('muster.revision'), written = clock_timestamp()";
    if (when.kind == Kind::kAbsent) sql += " WHERE o.body IS NULL";
  }
  sql += " RETURNING o.key, o.revision)" + std::string(kTell) + " SELECT " + std::string(kOrigin) +
         ", (SELECT revision::text FROM w), (" + guard_row +
         ")::text, (SELECT count(*)::text FROM told), " + std::string(kDurable);
  statement.sql = std::move(sql);
  return statement;
}

Result<Revision> Statements::was_put(const Key& key, const Rows& rows) {
  const Row& row = rows.at(0);
  if (row.at(4)) return Revision(*row[4]);
  if (row.at(5) == "false") {
    return {Errc::kUnavailable, "the guard of " + key + " came and went: try again"};
  }
  return {Errc::kConflict, key + " is not as the writer knows it"};
}

Statement Statements::keep_place(const Key& key) const {
  return {
      "WITH w AS (INSERT INTO muster.objects (key, revision)"
      " VALUES ($1, nextval('muster.revision')) ON CONFLICT (key) DO NOTHING) SELECT " +
          std::string(kOrigin) + ", " + std::string(kDurable),
      {text(full(key))}};
}

Statement Statements::remove(const Key& key, const std::optional<Revision>& when) const {
  return {
      "WITH w AS (DELETE FROM muster.objects AS o WHERE o.key = $1 AND o.body IS NOT NULL"
      " AND o.revision = coalesce($2::bigint, o.revision) RETURNING o.key)" +
          std::string(kTell) + " SELECT " + std::string(kOrigin) +
          ", (SELECT key FROM w),"
          " EXISTS (SELECT 1 FROM muster.objects WHERE key = $1 AND body IS NOT NULL)::text,"
          " (SELECT count(*)::text FROM told), " +
          std::string(kDurable),
      {text(full(key)), number(when ? sane(when) : std::nullopt), texts(channels_of(full(key)))}};
}

Status Statements::removed(const Key& key, const Rows& rows) {
  const Row& row = rows.at(0);
  if (row.at(4)) return Done{};
  if (row.at(5) == "true") {
    return Error{Errc::kConflict, key + " is not as the remover knows it"};
  }
  return Error{Errc::kNotFound, key + " does not exist"};
}

Statement Statements::list(const std::string& prefix, const std::string& from,
                           std::size_t page_size) const {
  Statement statement;
  const std::string all = full(prefix);
  std::string sql = "SELECT " + std::string(kOrigin) +
                    ", p.key, p.revision::text, p.age"
                    " FROM (SELECT 1) AS one LEFT JOIN (SELECT o.key, o.revision, " +
                    std::string(kAge) + " AS age FROM muster.objects o WHERE o.body IS NOT NULL";
  const auto add = [&](std::string value) {
    statement.parameters.push_back(text(std::move(value)));
    return "$" + std::to_string(statement.parameters.size());
  };
  if (!all.empty()) sql += " AND o.key >= " + add(all);
  if (const auto end = end_of(all)) sql += " AND o.key < " + add(*end);
  if (!from.empty()) sql += " AND o.key > " + add(full(from));
  sql += " ORDER BY o.key";
  // One more tells whether there is another page.
  if (page_size > 0) sql += " LIMIT " + std::to_string(page_size + 1);
  statement.sql = sql + ") AS p ON true ORDER BY p.key";
  return statement;
}

ListPage Statements::listed(const Rows& rows, std::size_t page_size) const {
  ListPage page;
  for (const Row& row : rows) {
    if (!row.at(4)) continue;  // The origin alone, of an empty list.
    const auto key = strip(*row[4]);
    if (!key) continue;
    if (page_size > 0 && page.objects.size() == page_size) {
      page.next = page.objects.back().key;
      break;
    }
    page.objects.push_back({*key, Revision(row.at(5).value_or("")), age_of(row.at(6))});
  }
  return page;
}

Statement Statements::fetch(const std::vector<Key>& keys) const {
  std::vector<std::string> full_keys;
  full_keys.reserve(keys.size());
  for (const Key& key : keys) full_keys.push_back(full(key));
  return {"SELECT " + std::string(kOrigin) + ", o.key, o.revision::text, o.body, " +
              std::string(kAge) +
              " FROM (SELECT 1) AS one"
              " LEFT JOIN muster.objects o ON o.key = ANY ($1::text[]) AND o.body IS NOT NULL"
              " ORDER BY o.revision",
          {texts(full_keys)}};
}

std::vector<Statements::Fetched> Statements::fetched(const Rows& rows) const {
  std::vector<Fetched> objects;
  for (const Row& row : rows) {
    if (!row.at(4)) continue;
    if (const auto key = strip(*row[4])) {
      objects.push_back({*key, Object{row.at(6).value_or(""), Revision(row.at(5).value_or("")),
                                      age_of(row.at(7))}});
    }
  }
  return objects;
}

std::string Statements::channel(const std::string& prefix) const {
  return channel_of(full(prefix));
}

std::optional<Key> Statements::strip(const std::string& full_key) const {
  if (!full_key.starts_with(prefix_)) return std::nullopt;
  return full_key.substr(prefix_.size());
}

Statement listen(const std::string& channel) {
  return {"LISTEN " + channel};
}

Statement unlisten(const std::string& channel) {
  return {"UNLISTEN " + channel};
}

}  // namespace muster::postgres
