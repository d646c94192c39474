#include "store/postgres/setup.h"

#include <utility>

#include "store/postgres/address.h"
#include "store/postgres/client.h"
#include "store/postgres/libpq.h"
#include "store/postgres/statements.h"

namespace muster::postgres {
namespace {

/// Whether the table is as it must be: an earlier one of that name may be anything.
constexpr const char* kShape =
    "SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ||"
    " CASE WHEN a.attname = 'key' THEN ' ' || coalesce(c.collname, '') ELSE '' END, ', '"
    " ORDER BY a.attname) FROM pg_attribute a LEFT JOIN pg_collation c ON c.oid = a.attcollation"
    " WHERE a.attrelid = 'muster.objects'::regclass AND a.attnum > 0 AND NOT a.attisdropped";
constexpr const char* kRightShape =
    "body bytea, key text C, revision bigint, written timestamp with time zone";

std::string quoted_name(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

class PostgresSetup final : public Setup {
 public:
  PostgresSetup(const Libpq& pq, DatabaseAddress address, EventLoop& loop)
      : text_(address.text),
        client_(pq, loop, std::move(address), Client::Needs::kDatabase,
                {[] {}, [](const std::string&, const std::string&) {}}) {}

  void start(std::string role, Deadline by, Callback<Done> done) override {
    by_ = by;
    done_ = std::move(done);
    statements_ = schema_statements();
    statements_.emplace_back(kShape);
    shape_at_ = statements_.size() - 1;
    if (!role.empty()) {
      for (std::string& grant : grant_statements(role)) statements_.push_back(std::move(grant));
    }
    next();
  }

 private:
  void next() {
    if (at_ == statements_.size()) return done_(Done{});
    client_.ask({statements_[at_]}, remote::Access::kWrite, by_, [this](const Result<Rows>& rows) {
      if (!rows) return done_(explained(rows.error()));
      if (at_ == shape_at_ && (rows->empty() || rows->at(0).at(0) != kRightShape)) {
        return done_(Error{Errc::kInvalid,
                           "the table muster.objects of " + text_ +
                               " exists and is not as Muster makes it; rename it, or use another "
                               "database"});
      }
      ++at_;
      next();
    });
  }

  [[nodiscard]] static Error explained(Error error) {
    if (error.code == Errc::kAmbiguous) error.code = Errc::kUnavailable;
    if (error.code == Errc::kDenied) {
      error.message +=
          "; the table is made by a role that may create a schema in the database, such as its "
          "owner: name it in the address, or give docs/postgres.md's SQL to the owner";
    }
    return error;
  }

  std::string text_;
  std::vector<std::string> statements_;
  std::size_t at_ = 0;
  std::size_t shape_at_ = 0;
  Deadline by_{};
  Callback<Done> done_;
  Client client_;
};

}  // namespace

std::vector<std::string> schema_statements() {
  return {"CREATE SCHEMA IF NOT EXISTS muster;",
          R"(DO $$
BEGIN
  IF to_regclass('muster.revision') IS NULL THEN
    EXECUTE 'CREATE SEQUENCE muster.revision START WITH '
      || (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
  END IF;
END
$$;)",
          R"(CREATE TABLE IF NOT EXISTS muster.objects (
  key text COLLATE "C" PRIMARY KEY,
  body bytea,
  revision bigint NOT NULL,
  written timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);)"};
}

std::vector<std::string> grant_statements(const std::string& role) {
  const std::string name = quoted_name(role);
  return {"GRANT USAGE ON SCHEMA muster TO " + name + ";",
          "GRANT SELECT, INSERT, UPDATE, DELETE ON muster.objects TO " + name + ";",
          "GRANT USAGE ON SEQUENCE muster.revision TO " + name + ";"};
}

Result<std::unique_ptr<Setup>> open_setup(const Url& url, const TlsFiles& tls, EventLoop& loop) {
  if (url.scheme != "postgres" && url.scheme != "postgresql") {
    return {Errc::kInvalid, url.redacted() + " is not a postgres:// address"};
  }
  auto address = DatabaseAddress::read(url, tls, /*tls13_only=*/false);
  if (!address) return address.error();
  const auto& pq = Libpq::load();
  if (!pq) return pq.error();
  return std::unique_ptr<Setup>(std::make_unique<PostgresSetup>(*pq, std::move(*address), loop));
}

}  // namespace muster::postgres
