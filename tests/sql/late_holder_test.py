"""The whole chain: two processes under `belay run` on a real Redis, the first stopped too long.

When its lease is over the second has the lock and writes. Then the first goes on before the command
above it does, which would stop it: nothing but the database is left to refuse what it writes.
"""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

from databases import Sqlite, connect, postgres
from patterns import REFUSED, WRITTEN, FenceColumn, GuardRow, Unguarded, Upsert, VersionColumn
from support import Belay, PatientTest, Server, eventually, is_running

HOLDER = os.path.join(os.path.dirname(__file__), "late_holder.py")
EXIT_LOST = 75


class Late:
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="belay-sql-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def start(self, pattern, state):
        """A holder that is ready to write: the process of belay and the id of its command's."""
        ready = os.path.join(self.directory, state)
        holder = Belay("run", "--lease", "1", "orders:42", "--", sys.executable, "-B", HOLDER,
                       pattern.__name__, self.database.target, ready, state, url=self.server.url(),
                       env={"PYTHONPATH": os.environ.get("PYTHONPATH", "")}, stdin=subprocess.PIPE,
                       # Where sessions share processors (autogroup), one that has just computed may wait for longer than the lease.
                       start_new_session=False, process_group=0)
        self.addCleanup(holder.close)

        def process_id():
            if not is_running(holder.pid):
                raise AssertionError(f"the holder ended: {holder.finish()}")
            if not os.path.exists(ready):
                return None
            with open(ready, encoding="ascii") as file:
                text = file.read()
            return int(text) if text.endswith("\n") else None
        return holder, eventually(process_id, f"{state} is about to be written")

    def outcome_of(self, holder, expected_code):
        code, out, err = holder.finish()
        self.assertEqual(code, expected_code, err)
        outcome, fence = out.split()
        return outcome, int(fence)

    def stop_past_the_lease(self, pattern):
        """What becomes of the late write, and what the order's state is then."""
        self.database.fresh()
        connection = connect(self.database.target)
        self.addCleanup(connection.close)
        pattern().lay_out(connection)
        late, late_writer = self.start(pattern, "late")
        late.send(signal.SIGSTOP)
        os.kill(late_writer, signal.SIGSTOP)
        newer, _ = self.start(pattern, "newer")  # thus the late one's lease is over
        newer.process.stdin.write(b"\n")
        outcome, newer_fence = self.outcome_of(newer, 0)
        self.assertEqual(outcome, WRITTEN)
        late.process.stdin.write(b"\n")
        late.process.stdin.flush()
        os.kill(late_writer, signal.SIGCONT)
        eventually(lambda: not is_running(late_writer), "the late holder has tried to write")
        late.send(signal.SIGCONT)
        outcome, late_fence = self.outcome_of(late, EXIT_LOST)
        self.assertLess(late_fence, newer_fence)
        return outcome, pattern().state(connection)

    def test_a_fence_column_refuses_it(self):
        self.assertEqual(self.stop_past_the_lease(FenceColumn), (REFUSED, "newer"))

    def test_an_upsert_refuses_it(self):
        self.assertEqual(self.stop_past_the_lease(Upsert), (REFUSED, "newer"))

    def test_a_guard_row_refuses_it(self):
        self.assertEqual(self.stop_past_the_lease(GuardRow), (REFUSED, "newer"))

    def test_a_version_column_refuses_it(self):
        self.assertEqual(self.stop_past_the_lease(VersionColumn), (REFUSED, "newer"))

    def test_without_a_condition_it_is_taken(self):
        self.assertEqual(self.stop_past_the_lease(Unguarded), (WRITTEN, "late"))


class LateOnSqlite(Late, PatientTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.database = Sqlite()
        cls.addClassCleanup(cls.database.stop)


class LateOnPostgres(Late, PatientTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.database = postgres()


if __name__ == "__main__":
    unittest.main()
