#include "store/postgres/settings.h"

#include <string>

#include "base/text.h"

namespace muster::postgres {

Statement greeting() {
  return {
      "SELECT current_setting('server_version_num'), s.standby::text,"
      " current_setting('transaction_read_only'), current_setting('fsync'),"
      " getdatabaseencoding()::text, pg_backend_pid()::text,"
      " (to_regclass('muster.objects') IS NOT NULL AND"
      " to_regclass('muster.revision') IS NOT NULL)::text,"
      " (SELECT system_identifier FROM pg_control_system())::text,"
      " CASE WHEN NOT s.standby THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END"
      " FROM (SELECT pg_is_in_recovery() AS standby) AS s"};
}

Result<Greeting> Greeting::read(const Rows& rows) {
  if (rows.size() != 1 || rows[0].size() != 9) {
    return {Errc::kUnsupported, "the server does not answer as PostgreSQL does"};
  }
  const auto value = [&](std::size_t i) { return rows[0][i].value_or(""); };
  Greeting greeting;
  greeting.version = static_cast<std::int64_t>(parse_unsigned(value(0)).value_or(0));
  greeting.standby = value(1) == "true";
  greeting.read_only = value(2) == "on";
  greeting.durable = value(3) == "on";
  greeting.utf8 = value(4) == "UTF8";
  greeting.process = static_cast<int>(parse_unsigned(value(5)).value_or(0));
  greeting.installed = value(6) == "true";
  greeting.origin.system = value(7);
  greeting.origin.timeline = Origin::timeline_of(value(8)).value_or(0);
  return greeting;
}

Statement inspection() {
  // Everybody may read these; of the standbys, how many there are.
  return {"SELECT " + Origin::columns() +
          ", current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),"
          " (SELECT count(*) FROM pg_stat_replication)::text,"
          " current_setting('full_page_writes'),"
          " (SELECT coalesce(max(revision), 0) FROM muster.objects)::text,"
          " (has_table_privilege('muster.objects', 'SELECT') AND"
          " has_table_privilege('muster.objects', 'INSERT') AND"
          " has_table_privilege('muster.objects', 'UPDATE') AND"
          " has_table_privilege('muster.objects', 'DELETE') AND"
          " has_sequence_privilege('muster.revision', 'USAGE'))::text"};
}

Result<StoreInspection> inspected(const Rows& rows, bool hears) {
  const auto origin = Origin::read(rows);
  if (!origin) return origin.error();
  const auto value = [&](std::size_t i) { return rows[0].at(Origin::kColumns + i).value_or(""); };
  if (value(5) != "true") {
    return {Errc::kDenied,
            "the PostgreSQL role lacks a privilege; it needs SELECT, INSERT, UPDATE and DELETE on "
            "muster.objects and USAGE on the sequence muster.revision"};
  }
  StoreInspection seen;
  const auto highest = parse_unsigned(value(4)).value_or(0);
  if (highest > static_cast<std::uint64_t>(origin->revision)) {
    seen.unsafe.push_back(
        "rows have revisions up to " + std::to_string(highest) + ", but the sequence is at " +
        std::to_string(origin->revision) +
        ", so revisions would be issued again; the table was restored without its sequence. Stop "
        "every process that uses it, then run SELECT setval('muster.revision', (SELECT "
        "max(revision) FROM muster.objects))");
  }
  const std::string commit = value(0);
  if (commit == "off" || commit == "local" || commit == "remote_write") {
    seen.remarks.push_back("synchronous_commit is " + commit +
                           " for this role; Muster's own writes commit with on");
  }
  if (value(3) != "on") {
    seen.remarks.push_back(
        "full_page_writes is off: after a power loss, pages may be damaged unless the file system "
        "writes them whole");
  }
  const std::string standbys = value(2);
  if (!value(1).empty()) {
    seen.remarks.push_back("a write waits for standbys (synchronous_standby_names = " + value(1) +
                           "): promoting one of them loses nothing that was confirmed");
  } else if (standbys != "0") {
    seen.remarks.push_back(
        "standbys follow asynchronously (" + standbys +
        ", synchronous_standby_names is empty): one that is promoted may lack the last writes, a "
        "leader's term among them. Workers that run then see the promotion and wait for the "
        "longest "
        "lease; only synchronous standbys protect those that start later");
  } else {
    seen.remarks.push_back(
        "no standby is connected: elections last as long as this server does, and a copy that is "
        "restored lacks the last writes");
  }
  seen.remarks.push_back("timeline " + std::to_string(origin->timeline));
  if (!hears) {
    seen.remarks.push_back(
        "a pooler stands in between, which may swallow notifications: changes are looked for once "
        "a "
        "second, so a clean handover takes up to a second");
  }
  return seen;
}

}  // namespace muster::postgres
