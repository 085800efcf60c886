-- The fence as a column of a row that the first holder creates: one statement that inserts, or
-- checks and writes.
--
-- Choose it when the lock protects one row and nobody knows whether it is there yet. When rows are
-- deleted again, a deleted row has forgotten its fence, and a late holder would bring it back: let
-- a column say that it is gone, or use guard_row.sql.
--
-- Zero rows: refused, as a holder with a greater fence has been here.
--
-- An equal fence is accepted: the same holder writes again, or one that shares the fence with it
-- (nested holds of one owner, the readers of one batch). Those must agree by other means.

-- name: schema
CREATE TABLE orders (
  id BIGINT PRIMARY KEY,
  state TEXT NOT NULL,
  fence BIGINT NOT NULL -- greater than 0 and less than 2^53
);

-- name: write
INSERT INTO orders (id, state, fence) VALUES (:id, :state, :fence)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, fence = excluded.fence
WHERE orders.fence <= excluded.fence;

-- Why that is right in PostgreSQL at READ COMMITTED: of two first inserts one waits for the
-- transaction of the other, finds its row and goes on with DO UPDATE. That locks the newest version
-- of the row, also one too new for what the statement could see at its start, and looks at the
-- WHERE with that version. So there is no moment between the look and the write, and the second of
-- two holders always sees the fence of the first. (A SELECT and then an INSERT or UPDATE of your
-- own would leave such a moment.)
--
-- At REPEATABLE READ and SERIALIZABLE a row that is newer than the transaction's snapshot ends it
-- with SQLSTATE 40001 and nothing is written: repeat the transaction with the same fence.
--
-- In SQLite a statement has the database to itself from its look to its write. SQLITE_BUSY: repeat
-- with the same fence.
