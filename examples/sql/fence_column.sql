-- The fence as a column of the row: one statement that checks and writes.
--
-- Choose it when the lock protects one row and the row exists before anybody takes the lock. When
-- holders create the row, see upsert.sql; when they write more than one, or delete them,
-- guard_row.sql; when others write without the lock, version_column.sql.
--
-- Zero rows: refused, as a holder with a greater fence has been here. (Or there is no such row: a
-- SELECT tells.)
--
-- An equal fence is accepted: the same holder writes again, or one that shares the fence with it
-- (nested holds of one owner, the readers of one batch). Those must agree by other means.

-- name: schema
CREATE TABLE orders (
  id BIGINT PRIMARY KEY,
  state TEXT NOT NULL,
  fence BIGINT NOT NULL DEFAULT 0 -- of no holder yet; fences are greater, and less than 2^53
);

-- name: write
UPDATE orders SET state = :state, fence = :fence WHERE id = :id AND fence <= :fence;

-- A holder that reads in order to write raises the fence as it reads. A plain SELECT would leave a
-- gap: a late write of the former holder, after the SELECT and before our own write, would be
-- accepted and then overwritten.

-- name: read
UPDATE orders SET fence = :fence WHERE id = :id AND fence <= :fence RETURNING state;

-- Why that is right in PostgreSQL at READ COMMITTED: an UPDATE that finds its row changed by a
-- transaction still open waits for that to end, and then looks at its WHERE once more, with the row
-- as that transaction left it. So of two holders that come together one is second and sees the
-- fence of the first. If the late holder is second, it is refused. If it is first, the newer one
-- writes on top of it, which is the order of their fences. A check is good until COMMIT, as nobody
-- passes the locked row until then; it says nothing about other rows, which may change as they
-- like: for those there is guard_row.sql.
--
-- At REPEATABLE READ and SERIALIZABLE there is no second look: who would need one ends with
-- SQLSTATE 40001 and has written nothing. Repeat the transaction with the same fence.
--
-- In SQLite a statement has the database to itself from its look to its write. SQLITE_BUSY: repeat
-- with the same fence. So it is, too, if a transaction has read before and somebody else has
-- written since (SQLITE_BUSY_SNAPSHOT): waiting does not help, ROLLBACK first.
