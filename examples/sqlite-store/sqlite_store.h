// A store in an SQLite file, for the processes of one machine: sqlite:///var/lib/app/elections.db
#pragma once

#include <muster/store.h>
#include <sqlite3.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

class SqliteStore : public muster::Store {
 public:
  static muster::Result<std::shared_ptr<muster::Store>> open(const muster::StoreAddress& address) {
    if (!address.hosts.empty() || address.path.empty() || !address.options.empty())
      return {muster::Code::kInvalid, "write sqlite:///path/of/a/file, without options"};
    auto store = std::make_shared<SqliteStore>();
    if (sqlite3_open(address.path.c_str(), &store->db_) != SQLITE_OK)
      return {muster::Code::kInvalid, sqlite3_errmsg(store->db_)};
    // Keys are compared as bytes. Other processes may create the table at the same time.
    Query create(*store, std::chrono::seconds(5),
                 "CREATE TABLE IF NOT EXISTS objects (key TEXT COLLATE BINARY PRIMARY KEY, "
                 "body BLOB NOT NULL, revision TEXT NOT NULL) WITHOUT ROWID");
    create.row();
    if (!create.ok()) return create.error();
    return store;
  }
  ~SqliteStore() override { sqlite3_close(db_); }

  muster::Result<muster::StoredObject> get(const std::string& key,
                                           muster::Duration within) override {
    Query query(*this, within, "SELECT body, revision FROM objects WHERE key = ?1");
    query.bind(1, key);
    if (query.row()) return muster::StoredObject{query.text(0), query.text(1)};
    return query.none(muster::Code::kNotFound, "there is no object " + key);
  }

  // One statement compares and writes. The new revision is random, so it is never used again, not
  // even if the file is replaced by a backup.
  muster::Result<std::string> put(const std::string& key, const std::string& body,
                                  const muster::WriteCondition& when,
                                  muster::Duration within) override {
    using Kind = muster::WriteCondition::Kind;
    const char* sql =
        "INSERT INTO objects VALUES (?1, ?2, hex(randomblob(16))) ON CONFLICT DO "
        "UPDATE SET body = excluded.body, revision = excluded.revision "
        "RETURNING revision";
    if (when.kind == Kind::kAbsent)
      sql =
          "INSERT INTO objects VALUES (?1, ?2, hex(randomblob(16))) ON CONFLICT DO NOTHING "
          "RETURNING revision";
    if (when.kind == Kind::kAtRevision)
      sql =
          "UPDATE objects SET body = ?2, revision = hex(randomblob(16)) "
          "WHERE key = ?1 AND revision = ?3 RETURNING revision";
    Query query(*this, within, sql);
    query.bind(1, key);
    query.bind_blob(2, body);
    if (when.kind == Kind::kAtRevision) query.bind(3, when.revision);
    if (!query.row()) return query.none(muster::Code::kConflict, key + " has changed");
    std::string revision = query.text(0);
    query.row();  // The write is committed when the statement ends.
    if (!query.ok()) return query.error();
    return revision;
  }

  muster::Status remove(const std::string& key, const std::optional<std::string>& revision,
                        muster::Duration within) override {
    Query query(*this, within,
                revision ? "DELETE FROM objects WHERE key = ?1 AND revision = ?2 RETURNING 1"
                         : "DELETE FROM objects WHERE key = ?1 RETURNING 1");
    query.bind(1, key);
    if (revision) query.bind(2, *revision);
    const bool removed = query.row();
    if (removed) query.row();
    if (!query.ok()) return query.error();
    if (removed) return muster::Done{};
    if (revision && get(key, within)) return {muster::Code::kConflict, key + " has changed"};
    return {muster::Code::kNotFound, "there is no object " + key};
  }

  muster::Result<std::vector<muster::StoredKey>> list(const std::string& prefix,
                                                      const std::string& after, std::size_t most,
                                                      muster::Duration within) override {
    Query query(*this, within,
                "SELECT key, revision FROM objects WHERE key > ?1 AND key >= ?2 AND "
                "substr(key, 1, length(?2)) = ?2 ORDER BY key LIMIT ?3");
    query.bind(1, after);
    query.bind(2, prefix);
    query.bind(3, most);
    std::vector<muster::StoredKey> keys;
    while (query.row()) keys.push_back({query.text(0), query.text(1)});
    if (!query.ok()) return query.error();
    return keys;
  }

 private:
  // A statement that waits at most `within` for other processes.
  class Query {
   public:
    Query(SqliteStore& store, muster::Duration within, const char* sql) : db_(store.db_) {
      const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(within);
      sqlite3_busy_timeout(db_, static_cast<int>(wait.count()));
      code_ = sqlite3_prepare_v2(db_, sql, -1, &statement_, nullptr);
    }
    ~Query() { sqlite3_finalize(statement_); }

    void bind(int place, const std::string& text) {
      sqlite3_bind_text(statement_, place, text.data(), static_cast<int>(text.size()), nullptr);
    }
    void bind(int place, std::size_t number) {
      sqlite3_bind_int64(statement_, place, static_cast<sqlite3_int64>(number));
    }
    void bind_blob(int place, const std::string& bytes) {
      sqlite3_bind_blob(statement_, place, bytes.data(), static_cast<int>(bytes.size()), nullptr);
    }
    // True if there is another row.
    bool row() {
      if (code_ == SQLITE_OK || code_ == SQLITE_ROW) code_ = sqlite3_step(statement_);
      return code_ == SQLITE_ROW;
    }
    std::string text(int column) const {
      const void* bytes = sqlite3_column_blob(statement_, column);
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
      return bytes == nullptr ? "" : std::string(static_cast<const char*>(bytes), size);
    }
    bool ok() const { return code_ == SQLITE_DONE || code_ == SQLITE_ROW; }
    muster::Error none(muster::Code code, const std::string& why) const {
      return ok() ? muster::Error{code, why} : error();
    }
    // Only what certainly wrote nothing may say so.
    muster::Error error() const {
      const bool waits = code_ == SQLITE_BUSY || code_ == SQLITE_FULL;
      const bool denied = code_ == SQLITE_READONLY || code_ == SQLITE_AUTH;
      return {waits    ? muster::Code::kUnavailable
              : denied ? muster::Code::kDenied
                       : muster::Code::kAmbiguous,
              std::string("SQLite: ") + sqlite3_errmsg(db_)};
    }

   private:
    sqlite3* db_;
    sqlite3_stmt* statement_ = nullptr;
    int code_ = SQLITE_OK;
  };

  sqlite3* db_ = nullptr;
};
