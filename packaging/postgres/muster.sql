-- What Muster keeps in a PostgreSQL database: one table, made once by its owner.
-- `muster postgres init` does the same. docs/postgres.md explains the columns.
CREATE SCHEMA IF NOT EXISTS muster;

-- Numbers every change. It begins with the time, so that a table that is made anew never issues a
-- number of the one before.
DO $$
BEGIN
  IF to_regclass('muster.revision') IS NULL THEN
    EXECUTE 'CREATE SEQUENCE muster.revision START WITH '
      || (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
  END IF;
END
$$;

-- A row without a body is no object: it keeps the place of one that must not exist.
CREATE TABLE IF NOT EXISTS muster.objects (
  key text COLLATE "C" PRIMARY KEY,
  body bytea,
  revision bigint NOT NULL,
  written timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- All that a role needs to use it. Replace app by its name:
--   GRANT USAGE ON SCHEMA muster TO app;
--   GRANT SELECT, INSERT, UPDATE, DELETE ON muster.objects TO app;
--   GRANT USAGE ON SEQUENCE muster.revision TO app;
