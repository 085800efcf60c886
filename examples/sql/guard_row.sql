-- A guard row for each resource, locked and raised at the start of a transaction: then any number
-- of statements.
--
-- Choose it when a holder writes several rows or tables, deletes rows, reads before it writes, or
-- may not add a column. It costs two or three statements more than fence_column.sql. All writers of
-- the resource must go through the guard.
--
-- A fence in the guard row that is greater than ours: refused, ROLLBACK.
--
-- An equal fence is accepted: the same holder, a transaction later, or one that shares the fence
-- with it (nested holds of one owner, the readers of one batch). Their transactions come one after
-- the other, and each sees what those before it have written.

-- name: schema
CREATE TABLE resources (
  name TEXT PRIMARY KEY, -- the lock's name, for one
  fence BIGINT NOT NULL -- less than 2^53
);
CREATE TABLE orders (id BIGINT PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE history (order_id BIGINT NOT NULL, state TEXT NOT NULL);

-- name: begin in PostgreSQL
BEGIN;

-- name: begin in SQLite
BEGIN IMMEDIATE;

-- A row that is not there cannot be locked, so the first who comes makes it.

-- name: create
INSERT INTO resources (name, fence) VALUES (:name, 0) ON CONFLICT (name) DO NOTHING;

-- name: lock in PostgreSQL
SELECT fence FROM resources WHERE name = :name FOR UPDATE;

-- name: lock in SQLite
SELECT fence FROM resources WHERE name = :name;

-- Is that greater than :fence? Then ROLLBACK and give up. Else raise it, also if it is equal (see
-- below).

-- name: raise
UPDATE resources SET fence = :fence WHERE name = :name;

-- Now read and write what you like, for example:

-- name: write
INSERT INTO orders (id, state) VALUES (:id, :state)
ON CONFLICT (id) DO UPDATE SET state = excluded.state;

-- name: write another
INSERT INTO history (order_id, state) VALUES (:id, :state);

-- name: commit
COMMIT;

-- Who need not know the other fence may put `guard` in the place of create, lock and raise: the
-- statement of upsert.sql. Zero rows: refused, ROLLBACK. It is the same in both databases; in
-- SQLite, too, it must be the first of its transaction.

-- name: guard
INSERT INTO resources (name, fence) VALUES (:name, :fence)
ON CONFLICT (name) DO UPDATE SET fence = excluded.fence WHERE resources.fence <= excluded.fence;

-- Why that is right in PostgreSQL at READ COMMITTED: SELECT ... FOR UPDATE waits for the
-- transaction that has the row, and answers with what that transaction left there. From then until
-- COMMIT nobody else passes, so between the comparison and the last write no newer holder can have
-- come. Each later statement sees what was committed before it began, thus all that the
-- transactions before us in the guard have written. (A SELECT without FOR UPDATE neither waits nor
-- keeps anybody out: the comparison would be over when the writes come.)
--
-- At REPEATABLE READ and SERIALIZABLE a transaction sees the database as it was at its first
-- statement, which may be before it has waited. It must not go on with that, and does not: a guard
-- row that was raised since ends it with SQLSTATE 40001. That is why the row is written even when
-- the fence is equal: a row that was only locked would let the next one in with its old view.
-- Repeat the transaction with the same fence.
--
-- In SQLite BEGIN IMMEDIATE takes the place of the row lock: it waits for the one right to write
-- (SQLITE_BUSY when it has waited for the connection's busy timeout: repeat with the same fence),
-- and what is read after it is what nobody changes until COMMIT. With a plain BEGIN the view could
-- be older than the right to write; SQLite notices, and the first write answers SQLITE_BUSY at
-- once.
