-- A fence in a database: a write that carries an epoch lower than the highest seen is refused by
-- the database itself, inside the transaction that makes the write. No grace, no clock.

-- Pattern 1: one fence for everything that a leader writes. Every transaction begins with
--   UPDATE fence SET epoch = :epoch WHERE resource = :resource AND epoch <= :epoch;
-- and rolls back when that changed no row. The row it wrote stays locked (or, in SQLite, the
-- database) until the commit, so no other leader comes in between. A new leader commits the
-- statement alone before it works: that shuts the old one out.
CREATE TABLE fence (
  resource TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL CHECK (epoch >= 0)
);
INSERT INTO fence (resource, epoch) VALUES ('accounts', 0);

-- Pattern 2: each row keeps the epoch of its last write, and triggers refuse lower ones. No
-- statement can forget the check; each row is fenced by itself.
CREATE TABLE accounts (
  name TEXT PRIMARY KEY,
  balance INTEGER NOT NULL,
  epoch INTEGER NOT NULL CHECK (epoch >= 0)
);
CREATE TRIGGER accounts_fence BEFORE UPDATE ON accounts WHEN NEW.epoch < OLD.epoch BEGIN
  SELECT RAISE(ABORT, 'stale epoch');
END;
-- A removed row would forget its epoch: mark it instead, or rely on the first pattern.
CREATE TRIGGER accounts_keep BEFORE DELETE ON accounts BEGIN
  SELECT RAISE(ABORT, 'a removed row forgets its epoch');
END;
