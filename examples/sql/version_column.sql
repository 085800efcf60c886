-- A version column beside the lock: the lock keeps contention away, the version catches the rest.
--
-- Choose it when what is written is computed from what was read, when some writers do not take the
-- lock, or when you have such a column already. It needs no fence. By itself it is optimistic:
-- under contention most writers compute for nothing and begin again. With the lock hardly anybody
-- does, and a holder that is late, or whose lock is lost, writes over nothing that it has not read.
--
-- Zero rows: somebody has written since we read. Are we still the holder (belay_hold_state, and
-- belay run would have stopped us)? Then read again and repeat: the other one was late, or does not
-- take the lock. If not, give up.
--
-- A version is written over once only, so that those who share a fence (nested holds of one owner,
-- the readers of one batch) are kept apart, too. What a version does not refuse is a late holder
-- that reads afresh and then writes. That overwrites nothing unseen; if it must not be either, add
-- a fence as in fence_column.sql.

-- name: schema
CREATE TABLE orders (
  id BIGINT PRIMARY KEY,
  state TEXT NOT NULL,
  version BIGINT NOT NULL
);

-- Zero rows: somebody else was first; read.

-- name: create
INSERT INTO orders (id, state, version) VALUES (:id, :state, 1) ON CONFLICT (id) DO NOTHING;

-- name: read
SELECT state, version FROM orders WHERE id = :id;

-- name: write
UPDATE orders SET state = :state, version = version + 1 WHERE id = :id AND version = :version;

-- Why that is right in PostgreSQL at READ COMMITTED: read and write may be far apart, in different
-- transactions or connections, and nothing is locked in between, since the write itself says what
-- it was computed from. An UPDATE that finds its row changed by a transaction still open waits for
-- that to end, and looks at its WHERE once more with the row as it is then: the version is
-- another, zero rows. `version` must only ever grow; a row that is deleted and created again begins
-- anew, so let a column say that it is gone.
--
-- At REPEATABLE READ and SERIALIZABLE the same ends with SQLSTATE 40001 instead of zero rows; it
-- means the same, in a new transaction.
--
-- In SQLite a statement has the database to itself from its look to its write. SQLITE_BUSY: nothing
-- was written, repeat (ROLLBACK first if the transaction has read before).
